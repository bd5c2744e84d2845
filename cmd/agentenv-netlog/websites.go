package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agentenv/netlog/capture"
	"github.com/agentenv/netlog/cmd/internal/api"
	"github.com/agentenv/netlog/cmd/internal/api/gateway"
)

// roleKeyVariable holds what makes a role believed.
const roleKeyVariable = "AGENTENV_ROLE_KEY"

// captureTick is between two looks at whether a capture is running.
const captureTick = 100 * time.Millisecond

// gateway is what --website says, and the environment.
func (f serveFlags) gateway() (gateway.Config, error) {
	c := gateway.Config{RoleKey: f.roleKey, Withhold: strings.Split(os.Getenv(providerVariable), ",")}
	if api.CheckToken(f.roleKey) != nil {
		return c, misused(fmt.Errorf("%s has white space or another character that is none of a key's", roleKeyVariable), "set it to the key alone, without quotes or a line's end")
	}
	names := map[string]bool{}
	for _, w := range f.websites {
		s, err := gateway.ParseSite(w)
		if err != nil {
			return c, misused(fmt.Errorf("--website %q: %w", w, err), "give a name and the address of its server, such as notes=http://notes:8000")
		}
		if names[s.Name] {
			return c, misused(fmt.Errorf("--website %q: %q is another website's name", w, s.Name), "give each a name of its own")
		}
		names[s.Name] = true
		c.Sites = append(c.Sites, s)
	}
	return c, nil
}

// awaitCaptures returns once all that --require-capture names are running.
func (f serveFlags) awaitCaptures(signals <-chan os.Signal, stderr io.Writer) error {
	for _, name := range f.required {
		if of, isFile := capture.NameOf(name); isFile {
			return misused(fmt.Errorf("--require-capture %q is the name of a file of the capture %q", name, of), "give the capture's own: --require-capture "+of)
		}
		switch {
		case !capture.ValidName(name):
			return misused(fmt.Errorf("--require-capture %q is no name of a capture", name), "give the name that capture --name has")
		case f.captures == "":
			return misused(fmt.Errorf("--require-capture %q has no folder to look in", name), "name the folder of the captures with --captures")
		}
	}
	if f.wait < 0 {
		return misused(fmt.Errorf("--capture-wait %v is below 0", f.wait), "give a duration such as 30s")
	}
	end := time.After(f.wait)
	tick := time.NewTicker(captureTick)
	defer tick.Stop()
	for said := false; ; said = true {
		name, err := f.notCapturing()
		if err == nil {
			return nil
		}
		if !said {
			fmt.Fprintf(stderr, "waiting up to %v for the capture %s\n", f.wait, name)
		}
		select {
		case <-tick.C:
		case <-signals:
			return interrupted("it waited for the capture " + name)
		case <-end:
			return failed(fmt.Errorf("--require-capture %w", err), fmt.Sprintf("start it: %s capture --name %s --captures %s", program, name, f.captures))
		}
	}
}

// notCapturing is a required capture that is not running, and why.
func (f serveFlags) notCapturing() (string, error) {
	for _, name := range f.required {
		if _, err := capture.Check(f.captures, name); err != nil {
			return name, err
		}
	}
	return "", nil
}
