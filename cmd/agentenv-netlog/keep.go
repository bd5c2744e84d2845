package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// keepFlags say what of the traffic the log keeps.
type keepFlags struct {
	requestBody  string
	responseBody string
	types        string
	hash         string
	messages     string
	redact       []string
	strip        bool
	bodyMemory   string
	keyLog       string
	token        string // the control token, which no log has; no flag
}

// add adds the flags; limits are what is kept without them.
func (f *keepFlags) add(flags *pflag.FlagSet, limits netlog.Limits) {
	flags.StringVar(&f.requestBody, "max-request-body", formatSize(limits.RequestBody), "keep this much of a request's body, `SIZE` such as 64KiB; 0 for nothing")
	flags.StringVar(&f.responseBody, "max-response-body", formatSize(limits.ResponseBody), "keep this much of an answer's body, `SIZE`")
	flags.StringVar(&f.types, "keep-types", limits.Types, "`WHICH` answers' bodies are kept: text, all or none")
	flags.StringVar(&f.hash, "hash", "on", "`SWITCH` the SHA-256 of each body on or off")
	flags.StringVar(&f.messages, "message-lines", "on", "`SWITCH` the lines for WebSocket messages on or off")
	flags.StringSliceVar(&f.redact, "redact-header", nil, "write <removed> for the values of the header fields of this `NAME` (repeatable)")
	flags.BoolVar(&f.strip, "strip-conditionals", false, "take If-None-Match and If-Modified-Since off requests, so that a server sends the whole answer and no 304")
	flags.StringVar(&f.bodyMemory, "body-memory", "96MiB", "hold this much of bodies in memory, `SIZE`, and more in temporary files beside the log")
	flags.StringVar(&f.keyLog, "key-log", "", "append the TLS secrets of both legs to `FILE`, as SSLKEYLOGFILE: who has it can decrypt a capture of the traffic")
}

// configure makes c as the flags say, but for the key log.
func (f *keepFlags) configure(c *proxy.Config) (err error) {
	if c.StandIn && f.strip {
		return misused(errors.New("--strip-conditionals does nothing with --stand-in, which relays as it is"), "leave one of them out")
	}
	if c.StandIn && f.keyLog != "" {
		return misused(errors.New("--key-log has nothing to write with --stand-in, which decrypts nothing"), "leave one of them out")
	}
	for flag, limit := range map[string]struct {
		given string
		bytes *int64
	}{
		"max-request-body":  {f.requestBody, &c.Keep.RequestBody},
		"max-response-body": {f.responseBody, &c.Keep.ResponseBody},
	} {
		if *limit.bytes, err = parseSize(flag, limit.given); err != nil {
			return err
		}
		if *limit.bytes > maxBody {
			return misused(fmt.Errorf("--%s %s is too much for a line", flag, limit.given), "give at most 1GiB")
		}
	}
	switch f.types {
	case "text", "all", "none":
		c.Keep.Types = f.types
	default:
		return misused(fmt.Errorf("--keep-types %q is none of text, all, none", f.types), "text is text, JSON, forms, XML and scripts")
	}
	hash, err := parseSwitch("hash", f.hash)
	if err != nil {
		return err
	}
	messages, err := parseSwitch("message-lines", f.messages)
	if err != nil {
		return err
	}
	c.NoHash, c.NoMessages = !hash, !messages
	for _, name := range f.redact {
		if !httpguts.ValidHeaderFieldName(name) {
			return misused(fmt.Errorf("--redact-header %q is no name of a header field", name), "give the name alone, such as Authorization")
		}
	}
	if err := checkToken(f.token); err != nil {
		return err
	}
	c.Redact, c.Withhold, c.StripConditionals = f.redact, withheld(f.token), f.strip
	if c.BodyMemory, err = parseSize("body-memory", f.bodyMemory); err != nil {
		return err
	}
	if c.BodyMemory == 0 {
		c.BodyMemory = -1
	}
	return nil
}

// openKeyLog opens the key log of c, when there is to be one. It can be no file of
// the log's, older ones with it, nor any other that is written.
func (f *keepFlags) openKeyLog(c *proxy.Config, log string, written ...string) error {
	if f.keyLog == "" {
		return nil
	}
	taken := isOfLog(f.keyLog, log)
	for _, name := range append(written, log) {
		taken = taken || isAlias(f.keyLog, name)
	}
	if taken {
		return misused(fmt.Errorf("%q can't be the key log: something else is written there", f.keyLog), "name a file of its own with --key-log")
	}
	file, err := os.OpenFile(f.keyLog, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err == nil {
		var info os.FileInfo
		if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%q is no regular file", f.keyLog)
		}
		if err != nil {
			file.Close()
		}
	}
	if err != nil {
		return failed(fmt.Errorf("open the key log: %w", err), "name a file of its own with --key-log, which is no link")
	}
	c.KeyLog = file
	return nil
}

// bodyFolder is where bodies go that are too many for the memory: to the disk that
// has to have room for them in the log.
func bodyFolder(log string) string { return filepath.Dir(log) }

// units are those of a size, the longer names first.
var units = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1}}

// maxBody is about what fits into a line of the log, in base64.
const maxBody = 1 << 30

// parseSize reads a number of bytes with or without a unit.
func parseSize(flag, s string) (int64, error) {
	for _, unit := range units {
		n := len(s) - len(unit.name)
		if n < 0 || !strings.EqualFold(s[n:], unit.name) {
			continue
		}
		number, err := strconv.ParseInt(strings.TrimSpace(s[:n]), 10, 64)
		if err != nil || number < 0 || number > math.MaxInt64/unit.bytes {
			break
		}
		return number * unit.bytes, nil
	}
	return 0, misused(fmt.Errorf("--%s %q is no size", flag, s), "give a number of bytes, or one with a unit: 64KiB, 10MiB, 1GiB")
}

// addMaxBody adds --max-body, which har and show have.
func addMaxBody(flags *pflag.FlagSet, to *string) {
	flags.StringVar(to, "max-body", "", "decode this much of each body of a log, `SIZE` such as 64MiB (default: 10MiB, or what the log was to keep of one if that is more)")
}

// parseMaxBody reads --max-body; 0 when it was not given.
func parseMaxBody(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := parseSize("max-body", s)
	if err == nil && (n == 0 || n > maxBody) {
		err = misused(fmt.Errorf("--max-body %s is out of bounds", s), "give at least 1 and at most 1GiB")
	}
	return n, err
}

// maxBodyHelp is what --max-body's own line has no room for.
const maxBodyHelp = `A body is decoded up to 10MiB, or to what the log was to keep of one if that is more; the
rest is left out and the body marked as truncated. One that inflates more than 256 times is
decoded only so far, or to what the log was to keep. --max-body sets another limit for all.`

// formatSize is a size as parseSize reads it.
func formatSize(n int64) string {
	for _, unit := range units {
		if n > 0 && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return "0"
}

func parseSwitch(flag, s string) (bool, error) {
	switch s {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, misused(fmt.Errorf("--%s %q is neither on nor off", flag, s), fmt.Sprintf("write --%s=on or --%[1]s=off", flag))
}
