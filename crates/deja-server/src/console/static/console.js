// What a little script adds. Every page works without it.
"use strict";

// The answer to a form stays with its place in this tab's history. Opened anew or by Back it is there again, and the form is not sent a
// second time: not for another person who has signed in meanwhile, and not longer than it is of use. It comes before all that looks at
// the page.
const who = document.querySelector("header form p")?.textContent;
const answer = document.querySelector("[data-answer]");
if (answer?.dataset.answer) {
  const end = answer.dataset.seconds ? Date.now() + answer.dataset.seconds * 1000 : null;
  try {
    history.replaceState({ who, end, title: document.title, html: answer.innerHTML }, "", answer.dataset.answer);
  } catch {
    // Too long for this browser: as without a script.
  }
  // On a phone the form fills the screen.
  const result = document.getElementById("result");
  if (result?.getBoundingClientRect().top > innerHeight / 2) result.scrollIntoView();
} else if (answer && history.state?.who === who && (history.state.end ?? Infinity) > Date.now()) {
  document.title = history.state.title;
  answer.innerHTML = history.state.html;
}

// Buttons that copy: shown only where copying works.
for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue;
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Press Ctrl+C";
    }
    document.getElementById("live").textContent = button.textContent;
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

// A dialog that the server sent open becomes a modal one.
for (const dialog of document.querySelectorAll("dialog[open]")) {
  dialog.removeAttribute("open");
  dialog.showModal();
}

// A slider shows its value while it moves: what is shown is what is sent.
for (const slider of document.querySelectorAll("input[type=range]")) {
  const output = document.querySelector(`output[for="${slider.id}"]`);
  slider.addEventListener("input", () => {
    slider.value = Number(slider.value).toFixed(3);
    output.textContent = Number(slider.value);
  });
}

// The nearest entries change sides while the threshold moves.
const threshold = document.getElementById("threshold");
for (const row of document.querySelectorAll("tr[data-similarity]")) {
  threshold?.addEventListener("input", () => {
    const reached = Number(row.dataset.similarity) >= Number(threshold.value);
    const refused = reached && Number(threshold.value) >= Number(row.dataset.refusedFrom ?? Infinity);
    const hit = reached && !refused;
    const [badge, bar, mark] = [".badge", "rect:not(.rail)", ".mark"].map((part) => row.querySelector(part));
    badge.textContent = hit ? "Hit" : refused ? row.dataset.refused : "Miss";
    badge.classList.toggle("good", hit);
    bar.setAttribute("class", hit ? "c2" : "c3");
    for (const end of ["x1", "x2"]) mark.setAttribute(end, threshold.value * 100);
  });
}

// The verdict of a look-up does so, too.
const result = document.querySelector("#result[data-at-others]");
if (threshold && result) {
  const [title, badge, text] = ["h2", ".badge", "p"].map((part) => result.querySelector(part));
  const [tried, ...first] = [Number(threshold.value), title.textContent, text.textContent, badge.textContent, badge.className];
  const tell = (...verdict) => { [title.textContent, text.textContent, badge.textContent, badge.className] = verdict; };
  threshold.addEventListener("input", () => {
    const row = document.querySelector("tr[data-similarity]:has(.badge.good)");
    const at = Number(threshold.value);
    if (at === tried) tell(...first);
    else if (row) tell("A similar prompt is in the cache", `At a threshold of ${at} a query would get the answer to the prompt with a similarity of ${Number(row.dataset.similarity).toFixed(3)}.`, "Hit", "badge good");
    else tell("No entry answers", `At a threshold of ${at} ${result.dataset.atOthers}.`, "Miss", "badge info");
  });
}

// A choice in a filter takes effect at once. By pointer or Enter only: arrow keys must not leave the page.
for (const select of document.querySelectorAll("form[data-auto] select")) {
  let keyboard = false;
  select.addEventListener("keydown", () => { keyboard = true; });
  select.addEventListener("pointerdown", () => { keyboard = false; });
  select.addEventListener("change", () => { if (!keyboard) select.form.requestSubmit(); });
}

// A page that renews itself waits while a row is open or has the focus.
const renewed = document.querySelector("[data-renewed]");
const renew = () => {
  if (document.querySelector("main table :is(details[open], :focus)")) setTimeout(renew, 500);
  else location.reload();
};
if (renewed) setTimeout(renew, renewed.dataset.renewed * 1000);

// Keys for the buttons that name one, unless something is being typed, or this browser has them off: whoever speaks to it types letters
// that are not meant. One that is held counts once: the next page is not read yet.
const keys = document.getElementById("label-keys");
if (keys) {
  const on = keys.querySelector("input");
  keys.hidden = false;
  on.checked = localStorage.getItem("keys") !== "off";
  on.addEventListener("change", () => localStorage.setItem("keys", on.checked ? "on" : "off"));
  addEventListener("keydown", (event) => {
    if (event.repeat || !on.checked) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("textarea, select")) return;
    document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`)?.click();
  });
}

// The same form is not sent twice by a double click. After a while it may be: whoever stopped the page has no other way.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "1";
    keep(form);
    setTimeout(() => { delete form.dataset.sent; }, 5000);
  });
}
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// A typed confirmation opens its button.
for (const input of document.querySelectorAll("input[data-confirm]")) {
  const button = input.form.querySelector("button[data-confirmed]");
  const check = () => { button.disabled = input.value !== input.dataset.confirm; };
  input.addEventListener("input", check);
  check();
}

// Moments in the browser's time zone, too; to the second where UTC is.
const [zone, exact] = ["short", "medium"].map((timeStyle) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle }));
for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
  const here = `${(/:\d\d:/.test(time.title + time.textContent) ? exact : zone).format(at)} here`;
  time.title = time.title ? `${time.title}; ${here}` : here;
  // Where the moment itself is written, so is the other one, if there is room.
  if (/^\d{4}-/.test(time.textContent) && !time.closest(".brief")) time.append(` (${here})`);
}

// Fields of a moment have the time zone of the browser; what is sent is UTC, and stands below. One that nobody changed is sent as it
// came: an hour that a clock goes through twice is two moments.
const MINUTE = 60_000;
const written = (at) => new Date(at).toISOString().slice(0, 16);
const local = (at) => written(at - new Date(at).getTimezoneOffset() * MINUTE);
const moments = (text) => {
  const day = 1440 * MINUTE;
  const plain = Date.parse(`${text}Z`);
  // The offsets of before and of behind a change of the clock. An hour that is left out has no moment: then it is both.
  const both = [plain - day, plain + day].map((near) => plain + new Date(near).getTimezoneOffset() * MINUTE);
  const real = both.filter((at) => local(at) === text);
  return real.length ? real : both;
};
const here = zone.resolvedOptions().timeZone;
for (const field of here === "UTC" ? [] : document.querySelectorAll("input[data-utc]")) {
  const [sent, below] = [document.createElement("input"), document.createElement("p")];
  [sent.type, sent.name, sent.value] = ["hidden", field.name, field.defaultValue];
  [below.className, below.id] = ["hint", `${field.id}-utc`];
  field.removeAttribute("name");
  field.setAttribute("aria-describedby", `${below.id} ${field.getAttribute("aria-describedby") ?? ""}`);
  field.value = sent.value && local(Date.parse(`${sent.value}Z`));
  field.labels[0].querySelector("[data-zone]").textContent = `(${here})`;
  field.after(sent, below);
  const tell = () => { below.textContent = sent.value && `${sent.value.replace("T", " ")} UTC`; };
  field.addEventListener("input", () => {
    // The first of a range is the earlier of two moments, the last the later one: so nothing that is meant is left out.
    const end = field.dataset.utc === "first" ? Math.min : Math.max;
    sent.value = field.value && written(end(...moments(field.value.slice(0, 16))));
    tell();
  });
  tell();
}

// In a filter Enter searches, as in a field of one line; Shift and Enter begin a new line.
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  if (!event.target.matches(".filters textarea")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

// What was typed into a form that came after the session had ended waits in this tab for the same person to sign in again. Secrets do
// not, and what confirms is typed again.
const typed = (form) => [...form.elements].filter((field) => field.name
  && field.matches("textarea, select, input:not([type=hidden], [type=password], [autocomplete=one-time-code], [data-confirm])"));
const touched = ({ options, value, defaultValue, checked, defaultChecked }) => options
  ? [...options].some((option) => option.selected !== option.defaultSelected)
  : value !== defaultValue || checked !== defaultChecked;
function keep(form) {
  // A form that tells what it was filled with (`before`) leaves to others what was not touched.
  const fields = typed(form).filter((field) => !form.elements.before || touched(field));
  const late = { who, action: form.action, fields: fields.map(({ name, value, checked }) => ({ name, value, checked })) };
  if (who && fields.length) sessionStorage.setItem("form", JSON.stringify(late));
}
function restore(form, fields) {
  for (const { name, value, checked } of fields) {
    for (const field of typed(form).filter((field) => field.name === name)) {
      if (!field.matches("[type=checkbox], [type=radio]")) field.value = value;
      else if (field.value === value) field.checked = checked;
      field.dispatchEvent(new Event("input"));
    }
  }
  const note = document.createElement("p");
  [note.className, note.textContent] = ["note warn", "This came too late and changed nothing. What you typed is here again, without passwords and keys."];
  note.setAttribute("role", "alert");
  form.prepend(note);
  note.scrollIntoView({ block: "center" });
}
const kept = JSON.parse(sessionStorage.getItem("form"));
if (kept && document.querySelector("form[action^='/console/sign-in']")) {
  sessionStorage.setItem("form", JSON.stringify({ ...kept, late: true }));
  document.querySelector("main [role=alert]")?.append(" What you typed waits in this tab.");
} else if (kept && who) {
  sessionStorage.removeItem("form");
  const same = (form) => form.action === kept.action && typed(form).some((field) => field.name === kept.fields[0].name);
  const form = [...document.querySelectorAll("form[method=post]")].find(same);
  if (form && kept.late && kept.who === who) restore(form, kept.fields);
}
