"use strict";
// The page's only script. It reads and writes nothing but this page and the reader's choice of theme.
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, properties) => Object.assign(document.createElement(name), properties);

  // A browser may deny storage to a page that is a file.
  const stored = {
    get() { try { return localStorage.getItem("asterism-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("asterism-theme", value); } catch { /* not kept */ } },
  };
  if (["light", "dark"].includes(stored.get())) root.dataset.theme = stored.get();

  function themes() {
    const button = document.querySelector("[data-does=theme]");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    const show = () => button.setAttribute("aria-pressed", dark());
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      stored.set(root.dataset.theme);
      show();
    });
    system.addEventListener("change", show);
    button.hidden = false;
    show();
  }

  function details() {
    const folded = all("details.detail");
    const button = document.querySelector("[data-does=details]");
    button.hidden = folded.length === 0;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", open);
      folded.forEach((detail) => { detail.open = open; });
    });
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = folded.filter((detail) => !detail.open);
      closed.forEach((detail) => { detail.open = true; });
    });
    addEventListener("afterprint", () => closed.forEach((detail) => { detail.open = false; }));
  }

  function contents() {
    const menu = document.querySelector(".menu");
    const narrow = matchMedia("(max-width: 60rem)");
    const fit = () => { menu.open = !narrow.matches; };
    narrow.addEventListener("change", fit);
    fit();
    const links = new Map(all('nav a[href^="#"]').map((link) => [link.hash.slice(1), link]));
    const marked = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
    const mark = () => {
      const above = marked.filter((part) => part.getBoundingClientRect().top < innerHeight / 3);
      const current = above.at(-1)?.id;
      links.forEach((link, id) => {
        if (id === current) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      });
    };
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; mark(); });
    }, { passive: true });
    mark();
    links.forEach((link) => link.addEventListener("click", () => { if (narrow.matches) menu.open = false; }));
  }

  const number = (text) => {
    const found = /^[^\w.–-]*(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)/i.exec(text);
    return found ? Number(found[1].replaceAll(",", "")) : NaN;
  };

  function sorting(table) {
    const body = table.tBodies[0];
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    if (!body || body.rows.length < 2 || body.querySelector("[colspan], [rowspan]")) return;
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = make("button", { type: "button", title: "Sort by this column" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [row.cells[column].textContent.trim(), row]);
        const known = rows.filter(([text]) => text !== "" && text !== "–");
        const numeric = known.every(([text]) => !Number.isNaN(number(text)));
        const order = ([a], [b]) => numeric ? number(a) - number(b) : a.localeCompare(b, "en", { numeric: true });
        known.sort((a, b) => (down ? -1 : 1) * order(a, b));
        const unknown = rows.filter(([text]) => text === "" || text === "–");
        body.append(...[...known, ...unknown].map(([, row]) => row));
      });
    });
  }

  function origins(table) {
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    [...table.tBodies].flatMap((body) => [...body.rows]).forEach((row) => {
      [...row.cells].slice(1).forEach((cell, place) => {
        const column = heads[place + 1]?.textContent.trim() ?? "";
        cell.title = `${row.cells[0].textContent.trim()}, ${column}\n${table.dataset.source}`;
      });
    });
  }

  function scrolling() {
    const fit = () => all(".wide, pre").forEach((box) => {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
    new ResizeObserver(fit).observe(document.body);
    all("details").forEach((detail) => detail.addEventListener("toggle", fit));
  }

  function figures() {
    const dialog = document.querySelector("dialog");
    all(".figure").forEach((figure) => {
      const image = figure.querySelector("img");
      const enlarge = figure.querySelector("[data-does=enlarge]");
      const save = figure.querySelector("[data-does=save]");
      enlarge?.addEventListener("click", () => {
        const close = make("button", { type: "button", textContent: "Close" });
        close.addEventListener("click", () => dialog.close());
        dialog.replaceChildren(close, make("img", { src: image.src, alt: image.alt }));
        dialog.showModal();
      });
      save?.addEventListener("click", () => {
        make("a", { href: image.src, download: save.dataset.name }).click();
      });
      [enlarge, save].forEach((button) => { if (button) button.hidden = false; });
    });
  }

  function unfolding() {
    const unfold = () => {
      let place = document.getElementById(location.hash.slice(1));
      for (; place; place = place.parentElement) if (place.matches("details")) place.open = true;
    };
    addEventListener("hashchange", unfold);
    unfold();
  }

  addEventListener("DOMContentLoaded", () => {
    themes();
    details();
    contents();
    all("table").forEach(sorting);
    all("table[data-source]").forEach(origins);
    scrolling();
    figures();
    unfolding();
  });
})();
