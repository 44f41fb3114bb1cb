export { type App, type AppOptions, allRoutes, createApp } from "./app.ts";
export { BOUND_SETTINGS } from "./bound-settings.ts";
export { REPLY_SETTINGS } from "./reply-settings.ts";
export { type Settings, readSettings } from "./config.ts";
export { embedderOptions } from "./embedder-options.ts";
export { type RunningServer, startServer } from "./server.ts";
export { SETTING_GROUPS } from "./setting-groups.ts";
export { SettingError } from "./settings/setting-error.ts";
