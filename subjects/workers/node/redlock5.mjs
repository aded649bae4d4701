// A worker for redlock 5.0.0-beta.2 (npm), with one server. redlock.mjs says what it does.
//
// Documented in its README: https://github.com/mike-marcacci/node-redlock

import Redlock, { ResourceLockedError } from "redlock5";
import { serve, versionOf } from "./kit.mjs";
import { abilities, open, renewPart } from "./redlock.mjs";

serve("redlock", versionOf("redlock5"), abilities, open(Redlock, ResourceLockedError), renewPart);
