export { type App, type AppOptions, allRoutes, createApp } from "./app.ts";
export { SETTINGS, type Settings, readSettings } from "./config.ts";
export { type RunningServer, startServer } from "./server.ts";
export { SettingError } from "./setting-error.ts";
