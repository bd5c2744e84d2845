package install

import (
	"bytes"
	"strings"
)

// Lines of ours in a file that has others' too stand between these.
const (
	blockBegin = "# agentenv sites"
	blockEnd   = "# end agentenv sites"
)

// withBlock adds lines to a file's end, in the place of those that it had of ours.
// A file whose last line has no end gets a block whose last has none, so that
// withoutBlock can give it back as it was.
func withBlock(file []byte, lines []string) []byte {
	file = withoutBlock(file)
	block := blockBegin + "\n" + strings.Join(append(lines, blockEnd), "\n")
	if len(file) > 0 && file[len(file)-1] != '\n' {
		return append(append(file, '\n'), block...)
	}
	return append(file, block+"\n"...)
}

// withoutBlock is a file without our lines.
func withoutBlock(file []byte) []byte {
	before, rest, found := cutLine(file, blockBegin)
	if !found {
		return bytes.Clone(file)
	}
	for { // the last one begins it: an earlier one has lost its end
		skipped, later, again := cutLine(rest, blockBegin)
		if !again {
			break
		}
		before, rest = file[:len(before)+len(blockBegin)+1+len(skipped)], later
	}
	_, after, found := cutLine(rest, blockEnd)
	if !found {
		return bytes.Clone(file)
	}
	if after == nil { // the block's last line had no end
		before = bytes.TrimSuffix(before, []byte("\n"))
	}
	return append(bytes.Clone(before), after...)
}

// cutLine cuts a file around the first line that is line; after is nil when that is
// the file's last and has no end.
func cutLine(file []byte, line string) (before, after []byte, found bool) {
	for at := 0; at < len(file); {
		end := bytes.IndexByte(file[at:], '\n')
		if end < 0 {
			return file[:at], nil, string(file[at:]) == line
		}
		if string(file[at:at+end]) == line {
			return file[:at], file[at+end+1:], true
		}
		at += end + 1
	}
	return file, nil, false
}
