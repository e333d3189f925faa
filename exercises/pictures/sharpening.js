// Softmax against scale: the weights of "journey", with its scores times a number.
picture("sharpening", "Softmax of the scores of journey, times a scale that you choose", (box) => {
  const words = ["Your", "journey", "starts", "with", "one", "step"];
  const scores = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865];
  const bars = words.map((_, j) => make("rect", { x: 12 + 55 * j, width: 40, class: "fill-a" }));
  const values = words.map((_, j) => make("text", { x: 32 + 55 * j, "text-anchor": "middle" }));
  const names = words.map((word, j) =>
    make("text", { x: 32 + 55 * j, y: 182, "text-anchor": "middle" }, word));
  const slider = make("input", { type: "range", min: 0, max: 20, step: 0.5, value: 1, id: "scale" });
  const scale = make("b");
  const told = make("output", { for: "scale" });

  function show() {
    const powers = scores.map((score) => Math.exp(slider.value * score));
    const sum = powers.reduce((a, b) => a + b);
    powers.forEach((power, j) => {
      const height = 150 * power / sum;
      bars[j].setAttribute("height", height);
      bars[j].setAttribute("y", 166 - height);
      values[j].setAttribute("y", 161 - height);
      values[j].textContent = (power / sum).toFixed(2);
    });
    scale.textContent = Number(slider.value).toFixed(1);
    const most = Math.max(...powers) / sum;
    told.textContent = slider.value === "0"
      ? "All six weights are equal: scores of 0 say nothing."
      : `“journey” gets ${most.toFixed(2)} of the attention, “one” ${(powers[4] / sum).toFixed(2)}.`
        + (most > 0.55 ? " The largest scores take nearly everything." : "");
  }

  slider.addEventListener("input", show);
  box.append(
    make("label", { for: "scale" }, "softmax(", scale, " · scores). Move the scale: "), slider,
    make("svg", { viewBox: "0 0 340 190", "aria-hidden": "true" },
      make("line", { x1: 4, x2: 336, y1: 166, y2: 166, class: "axis" }), ...bars, ...values, ...names),
    told);
  show();
});
