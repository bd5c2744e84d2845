package proxy

import (
	"io"
	"log/slog"
	"sync"
	"time"
)

// Bounds of what a key log waits for its writer.
const (
	keyLogQueue = 1 << 20         // bytes of lines
	keyLogGrace = 2 * time.Second // in the end
)

// A keyLog takes the secrets of both legs' sessions, in the NSS key log format. One
// that can't be written, or not in time, costs the log lines and no session its
// time: crypto/tls would wait for it, all handshakes in turn, or end them.
type keyLog struct {
	w   io.Writer
	log *slog.Logger

	mu     sync.Mutex
	queue  []byte        // lines that wait
	done   chan struct{} // closed when there are none any more; nil: nothing is being written
	lost   int           // lines
	failed bool          // a write has, and Logger was told
	cut    bool          // the last write ended within a line
}

// keys is what TLS configurations write their secrets to; nil for nothing.
func (c *Config) keys() *keyLog {
	if c.KeyLog == nil {
		return nil
	}
	return &keyLog{w: c.KeyLog, log: c.Logger}
}

// writer is k as an io.Writer, nil for none.
func (k *keyLog) writer() io.Writer {
	if k == nil {
		return nil
	}
	return k
}

// Write takes a line and never fails.
func (k *keyLog) Write(line []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue)+len(line) > keyLogQueue {
		if k.lost++; k.lost == 1 {
			k.log.Warn("the TLS key log is not written in time: secrets are left out")
		}
		return len(line), nil
	}
	k.queue = append(k.queue, line...)
	if k.done == nil {
		k.done = make(chan struct{})
		go k.run()
	}
	return len(line), nil
}

// run writes until nothing waits.
func (k *keyLog) run() {
	for lines, cut := k.take(); len(lines) > 0; lines, cut = k.take() {
		if cut {
			lines = append([]byte("\n"), lines...)
		}
		n, err := k.w.Write(lines)
		k.wrote(lines[:n], err)
	}
}

func (k *keyLog) take() (lines []byte, cut bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lines, k.queue = k.queue, nil
	if len(lines) == 0 {
		close(k.done)
		k.done = nil
	}
	return lines, k.cut
}

func (k *keyLog) wrote(b []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(b) > 0 {
		k.cut = b[len(b)-1] != '\n'
	}
	if err != nil && !k.failed {
		k.failed = true
		k.log.Warn("the TLS key log can't be written", "error", err)
	}
}

// flush waits a little for what is still to be written.
func (k *keyLog) flush() {
	if k == nil {
		return
	}
	k.mu.Lock()
	done := k.done
	k.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-time.After(keyLogGrace):
		k.log.Warn("the TLS key log could not be written to its end")
	}
}
