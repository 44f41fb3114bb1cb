import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { SheafApiError } from "@sheaf/client";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { applyTheme } from "./shell/theme.ts";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/parts.css";

const STALE_MS = 5_000;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: STALE_MS,
      // The client repeats what it is worth to repeat, and a refusal stays one.
      retry: (failures, error) => failures < 1 && !(error instanceof SheafApiError),
    },
  },
});

applyTheme();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
