// Rotary positions: drag a query and a key along the text; only their distance matters.
picture("rotary", "A query and a key, turned by their positions", (box) => {
  const LAST = 16, RATE = 0.3; // radians for each position
  const tokens = {
    query: { at: 2, angle: 0.3, y: 196, style: "a" },
    key: { at: 5, angle: 0.9, y: 236, style: "b" },
  };
  const told = make("output");
  const x = (position) => 22 + 18.5 * position;
  const drawing = make("svg", { viewBox: "0 0 340 256" },
    make("circle", { cx: 170, cy: 86, r: 78, class: "axis" }),
    make("line", { x1: x(0), x2: x(LAST), y1: 216, y2: 216, class: "axis" }));
  for (let p = 0; p <= LAST; p += 4) {
    drawing.append(make("line", { x1: x(p), x2: x(p), y1: 212, y2: 220, class: "axis" }));
  }

  for (const [name, token] of Object.entries(tokens)) {
    token.arrow = make("path", { d: "M0 0H70M60 -6L72 0L60 6", class: `stroke-${token.style}` });
    token.handle = make("g", {
      role: "slider", tabindex: 0, "aria-label": `position of the ${name}`, "aria-valuemin": 0,
      "aria-valuemax": LAST, class: "handle", onkeydown: (event) => press(event, token),
    }, make("circle", { r: 14, class: `fill-${token.style}` }),
    make("text", { y: 5, "text-anchor": "middle", class: "on" }, name[0]));
    token.handle.addEventListener("pointerdown", (event) => {
      token.handle.setPointerCapture(event.pointerId);
      token.handle.focus();
    });
    token.handle.addEventListener("pointermove", (event) => {
      if (token.handle.hasPointerCapture(event.pointerId)) drag(event, token);
    });
    drawing.append(token.arrow, token.handle);
  }

  function drag(event, token) {
    const frame = drawing.getBoundingClientRect();
    move(token, Math.round(((event.clientX - frame.left) * 340 / frame.width - x(0)) / 18.5));
  }

  function press(event, token) {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const to = { Home: 0, End: LAST }[event.key] ?? (by && token.at + by);
    if (to === undefined) return;
    event.preventDefault();
    move(token, to);
  }

  function move(token, to) {
    token.at = Math.min(LAST, Math.max(0, to));
    show();
  }

  function both(by) {
    const moved = Object.values(tokens).map((token) => token.at + by);
    if (Math.min(...moved) < 0 || Math.max(...moved) > LAST) return;
    Object.values(tokens).forEach((token, i) => { token.at = moved[i]; });
    show();
  }

  function show() {
    for (const token of Object.values(tokens)) {
      token.handle.setAttribute("transform", `translate(${x(token.at)} ${token.y})`);
      token.handle.setAttribute("aria-valuenow", token.at);
      const turned = -(token.angle + RATE * token.at) * 180 / Math.PI; // y points down
      token.arrow.setAttribute("transform", `translate(170 86) rotate(${turned})`);
    }
    const { query, key } = tokens;
    const product = Math.cos(key.angle - query.angle + RATE * (key.at - query.at));
    told.textContent = `Query at position ${query.at}, key at ${key.at}: distance ${key.at - query.at}, `
      + `dot product ${product.toFixed(2)}.`;
  }

  box.append(
    make("p", {}, "Drag the query (q) and the key (k) along the text, or use the arrow keys. Then move both."),
    drawing,
    make("p", {},
      make("button", { type: "button", onclick: () => both(-1) }, "Move both left"), " ",
      make("button", { type: "button", onclick: () => both(1) }, "Move both right")),
    told);
  show();
});
