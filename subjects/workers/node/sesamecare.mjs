// A worker for @sesamecare-oss/redlock (npm), with one server. redlock.mjs says what it does.
//
// Documented in its README: https://github.com/sesamecare/redlock

import { Redlock, ResourceLockedError } from "@sesamecare-oss/redlock";
import { serve, versionOf } from "./kit.mjs";
import { abilities, open, renewPart } from "./redlock.mjs";

const name = "@sesamecare-oss/redlock";
serve(name, versionOf(name), abilities, open(Redlock, ResourceLockedError), renewPart);
