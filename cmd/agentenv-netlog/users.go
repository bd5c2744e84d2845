package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// userFlags say who may use the proxy. What they hold is in no error.
type userFlags struct {
	user, file string
}

func (f *userFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.user, "proxy-user", "", "ask for this `USER:PASSWORD`, which other users of this machine can see in its list of processes; --proxy-user-file keeps them from that")
	flags.StringVar(&f.file, "proxy-user-file", "", "ask for one of the lines USER:PASSWORD in `FILE`")
}

// credentials says who is let in, in a time that does not tell how near a guess
// is; nil: everyone.
func (f *userFlags) credentials() (func(user, password string) bool, error) {
	var lines []string
	if f.user != "" {
		if !isUser(f.user) {
			return nil, misused(errors.New("--proxy-user is no user name and password"), "write it as USER:PASSWORD")
		}
		lines = append(lines, f.user)
	}
	if f.file != "" {
		b, err := os.ReadFile(f.file)
		if err != nil {
			return nil, failed(fmt.Errorf("read --proxy-user-file: %w", err), "name a file with a line USER:PASSWORD")
		}
		found := false
		for line := range strings.Lines(string(b)) {
			line = strings.TrimRight(line, "\r\n")
			if line == "" {
				continue
			}
			if !isUser(line) {
				return nil, failed(fmt.Errorf("a line of --proxy-user-file %q is no user name and password", f.file), "write each line as USER:PASSWORD")
			}
			lines, found = append(lines, line), true
		}
		if !found {
			return nil, failed(fmt.Errorf("--proxy-user-file %q names no user", f.file), "write a line USER:PASSWORD in it")
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	var users [][sha256.Size]byte
	for _, line := range lines {
		users = append(users, sha256.Sum256([]byte(line)))
	}
	return func(user, password string) bool {
		given := sha256.Sum256([]byte(user + ":" + password))
		known := 0
		for _, u := range users {
			known |= subtle.ConstantTimeCompare(given[:], u[:])
		}
		return known == 1
	}, nil
}

func isUser(s string) bool {
	user, password, ok := strings.Cut(s, ":")
	return ok && user != "" && password != ""
}
