package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A marionette is a Firefox with a fresh profile that does what it is told over
// its own protocol: messages of JSON, each behind its length and a colon.
type marionette struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	last int // command
}

// startFirefox starts one that reaches no network.
func startFirefox(t *testing.T) *marionette {
	t.Helper()
	firefox := need(t, "firefox-esr")
	home := t.TempDir()
	profile := filepath.Join(home, "profile")
	prefs := []string{`"marionette.port", 0`, `"network.proxy.type", 1`}
	for _, scheme := range []string{"http", "ssl"} {
		prefs = append(prefs, `"network.proxy.`+scheme+`", "127.0.0.1"`, `"network.proxy.`+scheme+`_port", 1`)
	}
	var text strings.Builder
	for _, pref := range append(prefs, stillFirefox...) {
		fmt.Fprintf(&text, "user_pref(%s);\n", pref)
	}
	if err := os.MkdirAll(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(profile, "user.js"), []byte(text.String()))

	cmd := exec.Command(firefox, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", profile)
	cmd.Env = append(clean(os.Environ()), "HOME="+home, "MOZ_CRASHREPORTER_DISABLE=1")
	cmd.WaitDelay = 10 * time.Second // for children that hold its output
	var output said
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	m := &marionette{t: t}
	t.Cleanup(func() {
		if m.conn != nil {
			m.send("Marionette:Quit", map[string]any{"flags": []string{"eForceQuit"}})
			m.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			io.Copy(io.Discard, m.r) // until it is gone; else it does not go
			m.conn.Close()
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			cmd.Process.Kill()
			<-ended
		}
	})
	until(t, "Firefox to listen", func() bool {
		select {
		case <-ended:
			t.Fatalf("Firefox ended\n%s", &output)
		default:
		}
		port, err := os.ReadFile(filepath.Join(profile, "MarionetteActivePort"))
		if err != nil || len(port) == 0 {
			return false
		}
		m.conn, err = net.Dial("tcp", "127.0.0.1:"+strings.TrimSpace(string(port)))
		return err == nil
	})
	m.r = bufio.NewReader(m.conn)
	m.receive() // its greeting
	m.command("WebDriver:NewSession", map[string]any{})
	m.command("Marionette:SetContext", map[string]any{"value": "chrome"})
	return m
}

// send sends a command.
func (m *marionette) send(name string, params any) {
	m.last++
	text, err := json.Marshal([]any{0, m.last, name, params})
	if err != nil {
		m.t.Fatal(err)
	}
	fmt.Fprintf(m.conn, "%d:%s", len(text), text)
}

// receive reads a message.
func (m *marionette) receive() []byte {
	m.t.Helper()
	m.conn.SetReadDeadline(time.Now().Add(patience))
	length, err := m.r.ReadString(':')
	if err != nil {
		m.t.Fatalf("Firefox: %v", err)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(length, ":"))
	if err != nil {
		m.t.Fatalf("Firefox: %v", err)
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(m.r, message); err != nil {
		m.t.Fatalf("Firefox: %v", err)
	}
	return message
}

// command does a command and returns its result.
func (m *marionette) command(name string, params any) json.RawMessage {
	m.t.Helper()
	m.send(name, params)
	var answer []json.RawMessage // 1, number, error, result
	if err := json.Unmarshal(m.receive(), &answer); err != nil || len(answer) != 4 {
		m.t.Fatalf("Firefox: %s: %v", name, err)
	}
	if !bytes.Equal(answer[2], []byte("null")) {
		m.t.Fatalf("Firefox: %s: %.2000s", name, answer[2])
	}
	return answer[3]
}
