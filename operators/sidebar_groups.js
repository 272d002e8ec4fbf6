// The App reads the groups of its sidebar only when it opens a dataset. This operator of the App, which FiftyOne loads
// with the plugin and which operators and panels in Python call, shows them as they are now.
(() => {
  const { Operator, OperatorConfig, registerOperator } = window.__foo__;
  // the App cannot draw its sidebar without these
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

  // The groups of the dataset, open or closed as they are now; fields in none of them stay in the group where they are
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
