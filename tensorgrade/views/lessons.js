// Copy buttons, live reload, and the frame for a course's interactive pictures. The page can be read
// without it.
"use strict";

const SVG = new Set(["svg", "g", "rect", "line", "path", "circle", "text"]);

// Return a new element. Attributes named on… are listeners; children are elements or texts.
function make(tag, attributes = {}, ...children) {
  const made = SVG.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Put an interactive picture in the place of the still one with that name.
function picture(name, label, draw) {
  for (const box of document.querySelectorAll(`[data-picture="${name}"]`)) {
    box.previousElementSibling.hidden = true;
    box.hidden = false;
    box.setAttribute("aria-label", label);
    draw(box);
  }
}

async function copy(code, button) {
  try {
    await navigator.clipboard.writeText(code.textContent);
  } catch { // some browsers have no clipboard for local files
    getSelection().selectAllChildren(code);
    document.execCommand("copy");
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

for (const code of document.querySelectorAll("pre > code")) {
  const button = make("button", { class: "copy", type: "button" }, "Copy");
  button.addEventListener("click", () => copy(code, button));
  code.parentElement.before(make("div", { class: "code" }, button));
  button.after(code.parentElement);
}

// What scrolls sideways can be reached with the keyboard.
function reachable() {
  for (const box of document.querySelectorAll('pre, .wide, math[display="block"]')) {
    if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", 0);
    else box.removeAttribute("tabindex");
  }
}

reachable();
addEventListener("resize", reachable);
document.addEventListener("toggle", reachable, true);

// `tensorgrade read --live` serves the page with a number, which it changes after each check.
const live = document.getElementById("live");
if (live) {
  const asking = setInterval(async () => {
    try {
      const answer = await fetch("version");
      if (await answer.text() !== live.dataset.version) location.reload();
    } catch {
      clearInterval(asking);
      live.textContent = "`tensorgrade read --live` has ended; this page shows the last check.";
    }
  }, 1000);
}
