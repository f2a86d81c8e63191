from __future__ import annotations

from typing import Any

import pytest

from tests.unit.chart.helm import NAMESPACE, Object, named, of_kind, render

LIMITED = {"namespaces": ["team-a", "team-b"]}
BARE = {
    **LIMITED,
    "crds": {"install": False},
    "rbac": {"aggregate": False, "readNodes": False},
}
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}
ACCOUNT = "gpubench-operator"

Right = tuple[str, str, str]


def roles_of(objects: list[Object], account: str) -> list[Object]:
    """Return the roles that are bound to an account."""
    found = []
    for kind in ("Role", "ClusterRole"):
        for binding in of_kind(objects, f"{kind}Binding"):
            (subject,) = binding["subjects"]
            assert subject["namespace"] == NAMESPACE
            if subject["name"] == account:
                place = binding["metadata"].get("namespace")
                found += [
                    role
                    for role in of_kind(objects, kind)
                    if role["metadata"]["name"] == binding["roleRef"]["name"]
                    and role["metadata"].get("namespace") == place
                ]
    return found


def rights_of(objects: list[Object], account: str) -> set[Right]:
    return {right for role in roles_of(objects, account) for right in rights_of_role(role)}


@pytest.mark.parametrize("values", [{}, LIMITED, BARE], ids=["all", "limited", "bare"])
def test_nobody_has_wildcards_secrets_or_pods_of_others(values: Object) -> None:
    objects = render(values)
    for account in (ACCOUNT, "gpubench-cleanup"):
        rights = rights_of(objects, account)
        assert rights
        assert not [right for right in rights if "*" in right]
        resources = {resource for _, _, resource in rights}
        assert not resources & {"secrets", "serviceaccounts", "pods/exec", "roles", "clusterroles"}
        # Pods are made by jobs, never by the operator itself.
        assert {verb for verb, _, resource in rights if resource == "pods"} <= {
            "get",
            "list",
            "watch",
        }


def test_a_limited_operator_has_a_role_in_each_namespace() -> None:
    roles = roles_of(render(LIMITED), ACCOUNT)
    places = [role["metadata"].get("namespace") for role in roles]
    assert sorted(places, key=str) == [None, NAMESPACE, "team-a", "team-b"]
    (outside,) = [role for role in roles if "namespace" not in role["metadata"]]
    assert [rule["resources"] for rule in outside["rules"]] == [["nodes"]]


def test_without_rights_on_the_cluster_nothing_of_the_cluster_is_made() -> None:
    kinds = {found["kind"] for found in render(BARE)}
    assert not kinds & CLUSTER_SCOPED


def test_it_may_do_the_same_in_a_namespace_as_everywhere() -> None:
    everywhere = rights_of(render(), ACCOUNT)
    limited = rights_of(render(LIMITED), ACCOUNT)
    assert limited < everywhere
    assert {resource for _, _, resource in everywhere - limited} == {"customresourcedefinitions"}


def test_exporters_may_be_found_in_one_more_namespace_if_that_is_asked_for() -> None:
    values = {**LIMITED, "rbac": {"readExporters": True}}
    more = rights_by_place(render(values)) - rights_by_place(render(LIMITED))
    assert more == {("gpu-operator", "list", "", "pods")}
    named_ones = values | {"settings": {"dcgm": {"endpoints": [{"url": "http://a:9400/metrics"}]}}}
    assert rights_by_place(render(named_ones)) == rights_by_place(render(LIMITED))


def rights_by_place(objects: list[Object]) -> set[tuple[str, str, str, str]]:
    return {
        (role["metadata"].get("namespace", ""), *right)
        for role in roles_of(objects, ACCOUNT)
        for right in rights_of_role(role)
    }


def rights_of_role(role: Object) -> set[Right]:
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_lease_is_the_only_thing_that_it_may_write_in_its_own_namespace() -> None:
    (lease,) = [
        role
        for role in roles_of(render(), ACCOUNT)
        if role["metadata"].get("namespace") == NAMESPACE
    ]
    assert all(rule["resources"] == ["leases"] for rule in lease["rules"])
    unnamed = [rule["verbs"] for rule in lease["rules"] if "resourceNames" not in rule]
    assert unnamed == [["create"]]


def test_cleaning_up_has_rights_of_its_own_that_go_with_it() -> None:
    objects = render()
    job = named(objects, "Job", "gpubench-cleanup")
    assert job["spec"]["template"]["spec"]["serviceAccountName"] == "gpubench-cleanup"
    hooks = [o for o in objects if "helm.sh/hook" in o["metadata"].get("annotations", {})]
    for hook in (o for o in hooks if o["kind"] != "Pod"):
        annotations: dict[str, Any] = hook["metadata"]["annotations"]
        assert annotations["helm.sh/hook"] == "pre-delete"
        assert "hook-succeeded" in annotations["helm.sh/hook-delete-policy"]
    assert {role["metadata"]["name"] for role in roles_of(objects, "gpubench-cleanup")} <= {
        hook["metadata"]["name"] for hook in hooks
    }
    assert "watch" not in {verb for verb, _, _ in rights_of(objects, "gpubench-cleanup")}
    assert not of_kind(render({"cleanup": {"enabled": False}}), "Job")


def test_whoever_edits_a_namespace_edits_its_benchmarks_but_not_their_status() -> None:
    roles = {r["metadata"]["name"]: r for r in of_kind(render(), "ClusterRole")}
    edit = roles[f"{NAMESPACE}-gpubench-edit"]
    assert edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert {resource for rule in edit["rules"] for resource in rule["resources"]} == {
        "gpubenchmarks",
        "gpubenchmarkruns",
    }
