package main

import "runtime/debug"

// program is the name that everything we write carries.
const program = "agentenv-netlog"

// version is set by the linker (see the Makefile); otherwise the module's stands
// in for it, as after `go install …@v1.2.3`.
var version string

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
