package proxy

import (
	"io"
	"log/slog"
	"sync"
)

// A keyLog takes the secrets of both legs' sessions, in the NSS key log format.
// A secret that can't be written costs the log, not the session: crypto/tls would
// end that.
type keyLog struct {
	w     io.Writer
	log   *slog.Logger
	tells sync.Once
}

func (k *keyLog) Write(line []byte) (int, error) {
	if _, err := k.w.Write(line); err != nil {
		k.tells.Do(func() { k.log.Warn("the TLS key log can't be written", "error", err) })
	}
	return len(line), nil
}

// keys is what every TLS configuration writes its secrets to; nil for nothing.
func (c *Config) keys() io.Writer {
	if c.KeyLog == nil {
		return nil
	}
	return &keyLog{w: c.KeyLog, log: c.Logger}
}
