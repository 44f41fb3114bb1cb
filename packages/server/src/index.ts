export { type App, type AppOptions, allRoutes, createApp } from "./app.ts";
export { BOUND_SETTINGS } from "./settings/bound-settings.ts";
export { REPLY_SETTINGS } from "./settings/reply-settings.ts";
export { type Settings, readSettings } from "./config.ts";
export { embedderOptions } from "./embedder-options.ts";
export { type RunningServer, startServer } from "./server.ts";
export { SETTING_GROUPS } from "./settings/setting-groups.ts";
export { SettingError } from "./settings/setting-error.ts";
