//! Files of one workspace: what a tool would change, as it is shown, and changing exactly that.
