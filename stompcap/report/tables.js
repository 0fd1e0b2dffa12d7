"use strict";
(() => {
  const SHOWN = 200;
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const figure = value => value >= 100 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3));
  const duration = us => {
    if (us < 999.5) return figure(us) + " µs";
    if (us < 999500) return figure(us / 1e3) + " ms";
    if (us < 59950000) return figure(us / 1e6) + " s";
    const s = Math.round(us / 1e6);
    const [large, name, small, rest] = s < 3600 ? [60, " min", 1, " s"] : s < 86400 ? [3600, " h", 60, " min"] : [86400, " d", 3600, " h"];
    const over = Math.floor(s % large / small);
    return Math.floor(s / large) + name + (over ? " " + over + rest : "");
  };
  const unpack = async text => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
  };

  const show = (place, data) => {
    const section = place.closest("section"), prefix = section.id.replace(/[a-z]+$/, "");
    const clock = new Intl.DateTimeFormat("sv-SE", {timeZone: data.zone, dateStyle: "short", timeStyle: "medium"});
    const columns = data.columns;
    const rest = data.total > data.rows ? "; " + (data.total - data.rows).toLocaleString("en") + " more have no room on this page" : "";
    for (const column of columns) {
      if (!column.words) continue;
      column.words.push("");
      column.codes = Int32Array.from(column.codes, code => code === null ? column.words.length - 1 : code);
      column.small = column.words.map(word => word.toLowerCase());
      const order = column.small.map((_, code) => code).sort((a, b) => column.small[a] < column.small[b] ? -1 : 1);
      column.rank = new Int32Array(order.length);
      order.forEach((code, rank) => { column.rank[code] = rank; });
    }
    const cell = (column, row) => {
      if (column.words) return column.words[column.codes[row]];
      const value = column.values[row];
      if (value === null) return "–";
      if (column.kind === "time") return clock.format(value);
      return column.kind === "us" ? duration(value) : value.toLocaleString("en");
    };
    let order = Int32Array.from({length: data.rows}, (_, row) => row), by = null, down = false, limit = SHOWN;
    const field = element("input"), said = element("span", "", "soft"), more = element("button", "Show more");
    field.type = "search";
    field.placeholder = "Filter: all words must be in the row";
    field.setAttribute("aria-label", "Filter");
    const table = element("table"), head = element("tr"), body = element("tbody"), box = element("div", undefined, "scroll");
    columns.forEach((column, nth) => {
      const top = element("th", undefined, column.words || column.kind === "time" ? "" : "num"), press = element("button", column.title, "sort");
      press.addEventListener("click", () => {
        down = by === nth ? !down : !column.words;
        by = nth;
        for (const one of head.children) one.removeAttribute("aria-sort");
        top.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keys = column.words ? Float64Array.from(column.codes, code => column.rank[code])
          : Float64Array.from(column.values, value => value === null ? -Infinity : value);
        order = Int32Array.from({length: data.rows}, (_, row) => row).sort(down ? (a, b) => keys[b] - keys[a] || a - b
          : (a, b) => keys[a] - keys[b] || a - b);
        draw();
      });
      top.scope = "col";
      top.append(press);
      head.append(top);
    });
    const matching = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.length) return order;
      const every = words.map(word => {
        const hit = new Uint8Array(data.rows);
        for (const column of columns) {
          if (!column.words) continue;
          const has = Uint8Array.from(column.small, text => text.includes(word) ? 1 : 0), codes = column.codes;
          if (has.includes(1)) for (let row = 0; row < data.rows; row++) hit[row] |= has[codes[row]];
        }
        return hit;
      });
      return order.filter(row => every.every(hit => hit[row]));
    };
    const draw = () => {
      const found = matching(), rows = document.createDocumentFragment();
      for (const row of found.subarray(0, limit)) {
        const line = element("tr");
        for (const column of columns) {
          const text = cell(column, row), one = element("td", undefined, column.words ? "" : column.kind === "time" ? "keep" : "num");
          if (column.kind === "session" && document.getElementById(prefix + "d-" + text)) {
            const link = element("a", text, "keep");
            link.href = "#" + prefix + "d-" + text;
            one.append(link);
          } else one.append(column.kind === "code" ? element("code", text) : element("span", text, column.kind === "session" ? "keep" : ""));
          line.append(one);
        }
        rows.append(line);
      }
      body.replaceChildren(rows);
      said.textContent = " " + found.length.toLocaleString("en") + " of " + data.rows.toLocaleString("en") + " rows" + rest;
      more.hidden = found.length <= limit;
    };
    field.addEventListener("input", () => { limit = SHOWN; draw(); });
    more.addEventListener("click", () => { limit += 1000; draw(); });
    table.append(element("thead"), body);
    table.firstChild.append(head);
    box.append(table);
    place.append(field, said, box, more);
    place.hidden = false;
    section.classList.add("live");
    draw();
    return text => { field.value = text; limit = SHOWN; draw(); };
  };

  const filters = new Map();
  const follow = () => {
    const found = /^#(.*?)([sd])-([0-9a-f]{20})$/.exec(location.hash);
    if (!found) return;
    const folded = document.getElementById(found[1] + "d-" + found[3]);
    if (folded) {
      folded.open = true;
      folded.scrollIntoView();
    } else if (filters.has(found[1] + "sessions")) {
      filters.get(found[1] + "sessions")(found[3]);
      document.getElementById(found[1] + "sessions").scrollIntoView();
    }
  };
  const begin = async () => {
    for (const place of document.querySelectorAll(".all")) {
      const data = await unpack(place.firstElementChild.textContent);
      filters.set(place.closest("section").id, show(place, data));
      await new Promise(next => setTimeout(next));
    }
    follow();
  };
  addEventListener("hashchange", follow);
  if (typeof DecompressionStream === "function") setTimeout(begin);
})();
