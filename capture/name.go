package capture

import "strings"

// ValidName says whether a capture may be called that: [A-Za-z0-9][A-Za-z0-9_.-]*.
// Such a name is safe in a path, a header and a command line.
func ValidName(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return name != ""
}

// NameOf is the name of the capture that a file is of: NAME.pcap and a number, which
// may be absent. It is false for what no capture's file is called.
func NameOf(file string) (name string, ok bool) {
	name, ok = strings.CutSuffix(strings.TrimRight(file, "0123456789"), ".pcap")
	return name, ok && ValidName(name)
}
