// The part of the plugin that runs in the browser; FiftyOne loads this file with the App.

// The App reads the groups of its sidebar only when it opens a dataset. This operator, which operators and panels in
// Python call, shows the groups that the dataset has now.
(() => {
  const { Operator, OperatorConfig, registerOperator } = window.__foo__;
  // the App cannot draw its sidebar without these groups
  const ALWAYS = ["tags", "metadata"];

  class ShowSidebarGroups extends Operator {
    get config() {
      const label = "Show the groups of the sidebar";
      return new OperatorConfig({ name: "show_sidebar_groups", label, unlisted: true });
    }

    async execute({ state, params }) {
      const inGrid = window.__fos__.sidebarGroupsDefinition(false);
      state.set(inGrid, (shown) => renewed(shown, params.groups));
    }
  }

  // The groups of the dataset, each open or closed as it is shown; fields in none of them stay in their present group
  function renewed(shown, groups) {
    const listed = new Set(groups.flatMap(({ paths }) => paths));
    const named = new Set(groups.map(({ name }) => name));
    const kept = shown.filter(({ name }) => ALWAYS.includes(name) && !named.has(name));
    return kept.concat(
      groups.map(({ name, paths, expanded }) => {
        const now = shown.find((group) => group.name === name);
        const others = now ? now.paths.filter((path) => !listed.has(path)) : [];
        return { name, paths: [...paths, ...others], expanded: now?.expanded ?? expanded };
      }),
    );
  }

  registerOperator(ShowSidebarGroups, "@annotator/agreement");
})();

// A list, or tabs, to choose a value from. FiftyOne's own components show what was chosen in them last, even if the
// panel uses another value, and wait a quarter of a second before they send a choice. This one shows a choice at once,
// and has the attribute "data-works" until the panel has answered; after that it shows the value that the panel uses.
// Requests overtake each other: one is sent when the one before is answered, and of choices meanwhile only the last.
(() => {
  const { createElement, useEffect, useRef, useState } = window.React;
  // an answer is drawn within this time after it has arrived, unless it changes nothing
  const DRAWN_MS = 1000;
  // a request without an answer for so long is taken for lost
  const LOST_MS = 20000;

  function Choice({ path, schema }) {
    const { look, title, choices, value, on_choose: operator } = schema.view;
    const panel = window.__fosp__.usePanelId();
    const send = window.__foo__.usePanelEvent();
    const [asked, ask] = useState(null);
    const { current: sending } = useRef({ n: 0, isUnderWay: false, next: null });
    useEffect(() => ask((wanted) => (wanted === value ? null : wanted)), [value]);
    const choose = (wanted) => {
      ask(wanted);
      sending.next = wanted;
      if (!sending.isUnderWay) sendNext();
    };
    const sendNext = () => {
      const request = ++sending.n;
      const params = { path, value: sending.next };
      Object.assign(sending, { isUnderWay: true, next: null });
      const answered = () => {
        if (request !== sending.n || !sending.isUnderWay) return;
        sending.isUnderWay = false;
        if (sending.next !== null) sendNext();
        else setTimeout(() => request === sending.n && ask(null), DRAWN_MS);
      };
      send(panel, { operator, params, callback: () => void answered() });
      setTimeout(answered, LOST_MS);
    };
    const shown = asked ?? value;
    const props = { choices, shown, choose, title };
    const works = asked === null ? {} : { "data-works": "" };
    const style = { display: "flex", alignItems: "center", gap: 6, minWidth: 0 };
    const { CircularProgress } = window.__mui__;
    return createElement("div", { ...works, style }, [
      createElement(look === "tabs" ? Tabs : List, { key: "choice", ...props }),
      asked !== null && createElement(CircularProgress, { key: "works", size: 14, "aria-label": "Working" }),
    ]);
  }

  function List({ choices, shown, choose, title }) {
    const style = {
      padding: "7px 8px",
      maxWidth: "min(220px, 29cqw)",
      font: "inherit",
      fontSize: ".88rem",
      color: "var(--fo-palette-text-primary)",
      background: "var(--fo-palette-background-level1)",
      border: "1px solid var(--fo-palette-divider)",
      borderRadius: 4,
      cursor: "pointer",
    };
    const option = ({ value, label }) => createElement("option", { key: value, value }, label);
    const onChange = ({ target }) => choose(target.value);
    return createElement("select", { "aria-label": title, value: shown ?? "", onChange, style }, choices.map(option));
  }

  function Tabs({ choices, shown, choose }) {
    const tab = ({ value, label }) => {
      const isShown = value === shown;
      const style = {
        padding: "5px",
        font: "inherit",
        fontSize: ".82rem",
        fontWeight: isShown ? 600 : 400,
        whiteSpace: "nowrap",
        color: `var(--fo-palette-text-${isShown ? "primary" : "secondary"})`,
        background: "none",
        border: 0,
        borderBottom: `2px solid ${isShown ? "var(--fo-palette-primary-main)" : "transparent"}`,
        cursor: "pointer",
      };
      const onClick = () => isShown || choose(value);
      return createElement("button", { key: value, role: "tab", "aria-selected": isShown, onClick, style }, label);
    };
    const line = { flex: 1, borderBottom: "1px solid var(--fo-palette-divider)" };
    const style = { ...line, display: "flex", flexWrap: "wrap" };
    return createElement("div", { role: "tablist", style }, choices.map(tab));
  }

  const { PluginComponentType, registerComponent } = window.__fop__;
  registerComponent({
    name: "AgreementChoice",
    label: "Choice",
    component: Choice,
    type: PluginComponentType.Component,
    activator: () => true,
  });
})();

// A form asks for its inputs after every key, and answers arrive in any order: all requests get that to the newest one.
(() => {
  const { prototype } = window.__foo__.Operator;
  const { resolveInput } = prototype;
  const newest = new Map();
  const waiting = new Map();

  prototype.resolveInput = function (ctx) {
    const { uri } = this;
    const answer = resolveInput.call(this, ctx);
    if (!uri.startsWith("@annotator/agreement/")) return answer;
    newest.set(uri, answer);
    return new Promise((resolve) => {
      waiting.set(uri, [...(waiting.get(uri) ?? []), resolve]);
      const answered = () => {
        if (newest.get(uri) !== answer) return;
        const oldestFirst = waiting.get(uri); // the App shows the values of the last one that is resolved
        waiting.set(uri, []);
        oldestFirst.forEach((each) => each(answer));
      };
      answer.then(answered, answered);
    });
  };
})();

// What only the browser knows: the name of the person who decides, which it stores, and the colours of the fields.
// Windows in which other people work may share the state of a panel: so buttons that decide send the name themselves.
(() => {
  const { Operator, OperatorConfig, registerOperator, usePanelEvent } = window.__foo__;
  const NAME = "annotator-agreement-name";

  // The name, null if nobody has said it here, and undefined where the browser lets nothing be stored
  const storedName = () => {
    try {
      return localStorage.getItem(NAME);
    } catch {
      return undefined;
    }
  };

  class AskBrowser extends Operator {
    get config() {
      const label = "Ask the browser who decides, and for the colours of fields";
      return new OperatorConfig({ name: "ask_browser", label, unlisted: true });
    }

    useHooks() {
      return { send: usePanelEvent() };
    }

    async execute({ state, hooks, params }) {
      if (params.name) return void localStorage.setItem(NAME, params.name);
      const now = (part) => state.snapshot.getPromise(part);
      const { fields, colorBy } = await now(window.__fos__.colorScheme);
      const colour = async (path) => {
        const { valueColors, ...known } = fields?.find((entry) => entry.path === path) ?? {};
        const fieldColor = await now(window.__fos__.pathColor(path));
        return { ...known, path, fieldColor, ...(colorBy === "value" && { valueColors }) };
      };
      const said = { name: storedName(), colours: await Promise.all(params.fields.map(colour)) };
      hooks.send(params.panel_id, { operator: params.operator, params: said });
    }
  }

  class SendNamed extends Operator {
    get config() {
      const label = "Send an event of a panel with the name of who decides";
      return new OperatorConfig({ name: "send_named", label, unlisted: true });
    }

    useHooks() {
      return { send: usePanelEvent() };
    }

    async execute({ hooks, params }) {
      const { panel_id: panel, panel_state: _, event: operator, ...others } = params;
      hooks.send(panel, { operator, params: { ...others, name: storedName() } });
    }
  }

  registerOperator(AskBrowser, "@annotator/agreement");
  registerOperator(SendNamed, "@annotator/agreement");
})();

// Keys of our panels: a key presses the button that names it, as a click does. After a decision the buttons wait until
// the next object is drawn: a key before that is meant for the old object, and is refused, with a message. Somebody who
// goes on pressing has not seen the next object either, so after a refusal there must be a pause. Our buttons have an
// own attribute, because others name keys in "aria-keyshortcuts", too; our panel is the one around such a button.
(() => {
  const KEY = "data-agreement-key";
  const BUTTON = `button[${KEY}]`;
  const PANEL = "[data-cy^='panel-content-']";
  const TYPING = "input, textarea, select, [contenteditable='true']";
  // if nothing new is drawn within this time, something went wrong, and the panel has said so
  const ANSWERED_MS = 5000;
  const PAUSE_MS = 400;
  const SIGN_MS = 1200;
  let clicked = { path: [] }; // the element that was clicked last with those around it, and the place
  let pressed = null;
  let refused = -PAUSE_MS;
  let sign = null;

  // Show a message, which screen readers read too, that nothing was decided
  const refuse = (panel) => {
    refused = performance.now();
    clearTimeout(sign?.timer);
    sign?.remove();
    sign = document.createElement("div");
    sign.setAttribute("role", "status");
    sign.textContent = "Not answered yet: press again when it is";
    const { left, bottom } = panel.getBoundingClientRect();
    sign.style.cssText = `position:fixed;left:${left + 16}px;top:${bottom - 48}px;z-index:2000;padding:6px 12px;
      border-radius:4px;font-size:.85rem;font-weight:600;color:#000;background:#ffb74d;pointer-events:none`;
    document.body.append(sign);
    sign.timer = setTimeout(() => sign.remove(), SIGN_MS);
  };

  // Whether the user works in a panel: nothing covers it, and the last click was not in another part of the page that
  // is still there. An icon that was clicked may have been replaced by another one
  const isInUse = (panel) => {
    if (!panel) return false;
    const { left, top, width, height } = panel.getBoundingClientRect();
    if (!panel.contains(document.elementFromPoint(left + width / 2, top + height / 2))) return false;
    const { path, x, y } = clicked;
    const there = path.find((part) => part.isConnected);
    if (!there || panel.contains(there)) return true;
    return there !== path[0] && (there.contains(panel) || !there.contains(document.elementFromPoint(x, y)));
  };

  const buttonOf = (key) =>
    [...document.querySelectorAll(BUTTON)].find(
      (button) => button.getAttribute(KEY).toLowerCase() === key && isInUse(button.closest(PANEL)),
    );

  const onKey = (event) => {
    const { key, repeat, isComposing, ctrlKey, metaKey, altKey, target } = event;
    if (isComposing || ctrlKey || metaKey || altKey) return;
    const typing = target.closest?.(TYPING);
    if (Boolean(typing) !== (key === "Enter")) return;
    const button = buttonOf(key.toLowerCase());
    if (!button || (typing && typing.closest(PANEL) !== button.closest(PANEL))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!repeat) button.click();
  };

  const onClick = (event) => {
    const button = event.target.closest?.(BUTTON);
    const panel = button?.closest(PANEL);
    if (!panel || button.getAttribute(KEY) === "Enter") return;
    if (pressed?.isConnected || performance.now() - refused < PAUSE_MS) {
      event.preventDefault();
      event.stopImmediatePropagation();
      refuse(panel);
      return;
    }
    pressed = button;
    button.style.opacity = 0.4;
    setTimeout(() => {
      button.style.opacity = "";
      if (pressed === button) pressed = null;
    }, ANSWERED_MS);
  };

  const onPointer = (event) => (clicked = { path: event.composedPath(), x: event.clientX, y: event.clientY });

  window.addEventListener("keydown", onKey, true);
  window.addEventListener("click", onClick, true);
  window.addEventListener("pointerdown", onPointer, true);
})();
