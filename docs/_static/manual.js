// What the theme leaves out for keyboards and screen readers: names of its two side bars, and that
// what scrolls sideways can be reached by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  const names = { "sidebar-drawer": "All pages", "toc-drawer": "On this page" };
  for (const [place, name] of Object.entries(names)) {
    document.querySelectorAll(`aside.${place}`).forEach((bar) => {
      bar.setAttribute("aria-label", name);
    });
  }
  document.querySelectorAll("pre, .table-wrapper").forEach((part) => {
    part.tabIndex = 0;
  });
});
