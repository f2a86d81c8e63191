"use strict";
// Sorting, filtering, copying and drawing: the page is complete without it, but for the charts.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  // ---- tables ----

  const sortValue = (cell) => {
    const text = cell.dataset.sort ?? cell.textContent.trim();
    if (text === "" || text === "—") return null;
    const number = Number(text);
    return Number.isNaN(number) ? text : number;
  };

  // Cells without a value go last in both directions; equal ones keep their order.
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  };

  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

  const sortBy = (table, column, direction) => {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const sign = direction === "descending" ? -1 : 1;
    const keys = new Map(
      rows.map((row) => [
        row,
        direction === "none" ? Number(row.dataset.place) : sortValue(row.cells[column]),
      ]),
    );
    rows.sort((a, b) => compare(keys.get(a), keys.get(b), sign));
    for (const row of rows) row.classList.toggle("group", direction === "none" && "group" in row.dataset);
    body.append(...rows);
  };

  for (const table of document.querySelectorAll("table")) {
    Array.from(table.tBodies[0].rows).forEach((row, place) => {
      row.dataset.place = place;
      if (row.classList.contains("group")) row.dataset.group = "";
    });
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const direction = NEXT[head.getAttribute("aria-sort")];
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", direction);
        sortBy(table, column, direction);
      });
    });
  }

  for (const table of document.querySelectorAll("table[data-filter]")) {
    const input = document.createElement("input");
    input.type = "search";
    input.className = "filter";
    input.placeholder = `Filter ${table.tBodies[0].rows.length} rows`;
    input.setAttribute("aria-label", input.placeholder);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.closest(".scroll").before(input);
  }

  // ---- listings ----

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        // A page opened from a file may not touch the clipboard in every browser.
        select(code);
        button.textContent = "Selected";
      }
    });
  }

  // ---- charts ----

  const specifications = JSON.parse(document.getElementById("chart-data").textContent);

  // Colours that differ in lightness as well as in hue, for whom hue is not enough.
  const LIGHT = ["#0b5cad", "#d9622b", "#1f8a70", "#8e44ad", "#b8860b", "#c2356f", "#5b7f17", "#5a6677"];
  const DARK = ["#6fb1f5", "#f2965f", "#56c7a8", "#c79be6", "#e3c15a", "#ef86b2", "#a8cc5c", "#a7b3c2"];

  const theme = (width, longest) => {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const colors = dark.matches ? DARK : LIGHT;
    return {
      background: "transparent",
      font: getComputedStyle(document.body).fontFamily,
      view: { stroke: null },
      range: { category: colors },
      mark: { color: colors[0] },
      bar: { color: colors[0] },
      axis: {
        labelColor: color("--soft"), titleColor: color("--soft"), titleFontWeight: "normal",
        labelFontSize: 12, titleFontSize: 12, titlePadding: 10,
        gridColor: color("--line"), domainColor: color("--line"), tickColor: color("--line"),
      },
      axisY: { labelLimit: Math.max(90, Math.min(260, width * 0.4)) },
      rule: { color: color("--ink") },
      legend: {
        orient: "top", direction: "horizontal", titleOrient: "left", offset: 10,
        columns: Math.max(1, Math.floor((width - 100) / (longest * 7 + 40))), columnPadding: 14,
        labelFontSize: 12, labelColor: color("--ink"), symbolSize: 90,
        titleFontSize: 12, titleFontWeight: "normal", titleColor: color("--soft"), titlePadding: 10,
      },
      style: { "guide-label": { fill: color("--soft") } },
    };
  };

  // Characters of a chart's longest series name: a legend has as many columns as fit.
  const longestSeries = (specification) => {
    const parts = [specification, ...(specification.layer ?? [])];
    const rows = Object.values(specification.datasets ?? {}).concat(parts.map((part) => part.data?.values ?? []));
    return Math.max(0, ...rows.flat().map((row) => (row.series ?? "").length));
  };

  const drawn = new Map();

  const draw = async (element) => {
    const width = element.clientWidth;
    drawn.get(element)?.result?.finalize();
    const specification = specifications[element.dataset.chart];
    const result = await window.vegaEmbed(element, specification, {
      mode: "vega-lite",
      renderer: "svg",
      // Expressions are interpreted, not compiled: the page's policy allows no eval.
      ast: true,
      actions: { export: true, source: false, compiled: false, editor: false },
      config: theme(width, longestSeries(specification)),
      formatLocale: { decimal: ".", thousands: "\u00a0", grouping: [3], currency: ["", ""] },
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
    drawn.set(element, { result, width });
  };

  const elements = Array.from(document.querySelectorAll("[data-chart]"));
  const drawAll = async (wanted) => {
    let missing = 0;
    for (const element of elements.filter(wanted)) {
      try {
        await draw(element);
      } catch (error) {
        missing += 1;
        element.textContent = `This chart could not be drawn: ${error.message}`;
      }
    }
    document.documentElement.dataset.charts = missing ? `${missing} missing` : "drawn";
  };

  if (elements.length) {
    drawAll(() => true);
    dark.addEventListener("change", () => drawAll(() => true));
    let timer = 0;
    window.addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(() => drawAll((each) => drawn.get(each)?.width !== each.clientWidth), 150);
    });
  }
})();
