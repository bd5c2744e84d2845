package e2e

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// encode puts a body into a content coding (RFC 9110 §8.4.1).
func encode(coding string, body []byte) ([]byte, error) {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w = z
	default:
		return nil, fmt.Errorf("no coding %q", coding)
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}
