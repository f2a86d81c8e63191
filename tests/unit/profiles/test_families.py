"""Names of every generation of CUDA, NCCL and the C library find their families."""

from __future__ import annotations

import pytest

from gpubench.api.enums import Family, ProfiledKind
from gpubench.profiles.families import COMMUNICATION, copy_family, family_of, has_family, plain_name


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("cudaLaunchKernel_v7000", Family.CUDA_LAUNCH_KERNEL),
        ("cudaLaunchKernel_ptsz_v7000", Family.CUDA_LAUNCH_KERNEL),
        ("cudaLaunchKernelExC_v11060", Family.CUDA_LAUNCH_KERNEL),
        ("cuLaunchKernel", Family.CUDA_LAUNCH_KERNEL),
        ("cuLaunchKernelEx_ptsz", Family.CUDA_LAUNCH_KERNEL),
        ("cudaLaunchCooperativeKernel_v9000", Family.CUDA_LAUNCH_KERNEL),
        ("cudaLaunchHostFunc_v10000", Family.OTHER_API),
        ("cudaStreamSynchronize_v3020", Family.CUDA_STREAM_SYNCHRONIZE),
        ("cuStreamSynchronize_ptsz", Family.CUDA_STREAM_SYNCHRONIZE),
        ("cudaEventSynchronize_v3020", Family.CUDA_EVENT_SYNCHRONIZE),
        ("cudaEventDestroy_v3020", Family.CUDA_EVENT_DESTROY),
        ("cuEventDestroy_v2", Family.CUDA_EVENT_DESTROY),
        ("cudaEventRecordWithFlags_v11010", Family.CUDA_EVENT_RECORD),
        ("cudaEventCreateWithFlags_v3020", Family.OTHER_API),
        ("cudaMemcpyAsync_v3020", Family.CUDA_MEMCPY_ASYNC),
        ("cudaMemcpyAsync_ptsz_v7000", Family.CUDA_MEMCPY_ASYNC),
        ("cuMemcpyHtoDAsync_v2", Family.CUDA_MEMCPY_ASYNC),
        ("cuMemcpyHtoDAsync_v2_ptsz", Family.CUDA_MEMCPY_ASYNC),
        ("cudaMemcpy2DAsync_v3020", Family.CUDA_MEMCPY_ASYNC),
        ("cudaMemcpy_v3020", Family.CUDA_MEMCPY),
        ("cudaMemsetAsync_v3020", Family.CUDA_MEMSET_ASYNC),
        ("cudaMalloc_v3020", Family.CUDA_MALLOC),
        ("cudaMallocAsync_v11020", Family.CUDA_MALLOC),
        ("cudaMallocHost_v3020", Family.CUDA_HOST_ALLOC),
        ("cudaHostAlloc_v3020", Family.CUDA_HOST_ALLOC),
        ("cuMemAlloc_v2", Family.CUDA_MALLOC),
        ("cuMemAllocHost_v2", Family.CUDA_HOST_ALLOC),
        ("cudaFree_v3020", Family.CUDA_FREE),
        ("cudaFreeHost_v3020", Family.OTHER_API),
        ("cudaGraphLaunch_v10000", Family.CUDA_GRAPH_LAUNCH),
        ("cudaDeviceSynchronize_v3020", Family.CUDA_DEVICE_SYNCHRONIZE),
        ("cuModuleGetLoadingMode", Family.OTHER_API),
        ("mycudaLaunchKernel", Family.OTHER_API),
    ],
)
def test_functions_of_cuda(name: str, family: Family) -> None:
    assert family_of(ProfiledKind.API, name) is family
    assert has_family(ProfiledKind.API, name) is (family is not Family.OTHER_API)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096>)", Family.NCCL_ALL_GATHER),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", Family.NCCL_ALL_REDUCE),
        ("ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*, unsigned)", Family.NCCL_ALL_REDUCE),
        ("ncclAllReduceRingLLKernel_sum_f32", Family.NCCL_ALL_REDUCE),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", Family.NCCL_REDUCE_SCATTER),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL", Family.NCCL_REDUCE),
        ("ncclDevKernel_Broadcast_RING_LL", Family.NCCL_BROADCAST),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", Family.NCCL_SEND_RECV),
        ("ncclSymkDevKernel_AllGather_LL", Family.NCCL_ALL_GATHER),
        ("ncclDevKernel_Generic", Family.NCCL_OTHER),
        ("void at::native::vectorized_elementwise_kernel<4>(int)", Family.COMPUTE_KERNEL),
        ("my_ncclDevKernel_AllGather", Family.COMPUTE_KERNEL),
    ],
)
def test_kernels(name: str, family: Family) -> None:
    assert family_of(ProfiledKind.KERNEL, name) is family
    assert has_family(ProfiledKind.KERNEL, name)
    assert (family in COMMUNICATION) is (family is not Family.COMPUTE_KERNEL)


@pytest.mark.parametrize("name", ["poll", "pthread_cond_wait", "sem_timedwait", "clock_nanosleep"])
def test_functions_that_wait(name: str) -> None:
    assert family_of(ProfiledKind.OS_RUNTIME, name) is Family.OS_RUNTIME_WAIT


@pytest.mark.parametrize("name", ["ioctl", "write", "mmap64", "pthread_create", "pollute"])
def test_other_functions_of_the_system(name: str) -> None:
    assert family_of(ProfiledKind.OS_RUNTIME, name) is Family.OS_RUNTIME_CALL


def test_copies_have_the_family_of_their_direction_and_unknown_kinds_are_other_copies() -> None:
    assert copy_family(1) is Family.MEMCPY_HOST_TO_DEVICE
    assert copy_family(2) is Family.MEMCPY_DEVICE_TO_HOST
    assert copy_family(8) is Family.MEMCPY_DEVICE_TO_DEVICE
    assert copy_family(10) is Family.MEMCPY_PEER_TO_PEER
    assert copy_family(99) is Family.MEMCPY_OTHER


def test_only_suffixes_of_versions_and_streams_come_off() -> None:
    assert plain_name("cudaMemcpyAsync_ptsz_v7000") == "cudaMemcpyAsync"
    assert plain_name("cuMemcpyHtoDAsync_v2_ptsz") == "cuMemcpyHtoDAsync"
    assert plain_name("cudaMemcpy2D_v2_more") == "cudaMemcpy2D_v2_more"
