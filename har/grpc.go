package har

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
)

// maxParts bounds what a body is split into: form parameters, events, gRPC
// messages. A body may hold millions of empty ones, and has them all itself.
const maxParts = 100_000

// grpcPrefix is the length of what stands before each message: a byte of flags
// and four of length (gRPC over HTTP/2, "Length-Prefixed-Message").
const grpcPrefix = 5

// The flags of a message. The second is gRPC-Web's: trailers, as the lines of
// an HTTP/1 head.
const (
	grpcCompressed = 0x01
	grpcTrailers   = 0x80
)

// grpcMessages splits a body of a gRPC type into its messages, as they came:
// what a message's own coding is stands in the field grpc-encoding. dir is the
// messages' type. Of a body that is cut, the last message is what there is of it.
func grpcMessages(body []byte, contentType, dir string) []GRPCMessage {
	typ := parseMedia(contentType).typ
	switch {
	case isGRPC(typ, "application/grpc"), isGRPC(typ, "application/grpc-web"):
	case isGRPC(typ, "application/grpc-web-text"):
		body = joinedBase64(body)
	default:
		return nil
	}
	var list []GRPCMessage
	for len(body) > 0 && len(list) < maxParts {
		m := GRPCMessage{Type: dir, Compressed: body[0]&grpcCompressed != 0, Trailers: body[0]&grpcTrailers != 0}
		var data []byte
		if len(body) < grpcPrefix {
			m.Truncated, body = true, nil
		} else {
			m.Size = int64(binary.BigEndian.Uint32(body[1:]))
			body = body[grpcPrefix:]
			n := min(m.Size, int64(len(body)))
			m.Truncated = n < m.Size
			data, body = body[:n], body[n:]
		}
		m.Data = base64.StdEncoding.EncodeToString(data)
		list = append(list, m)
	}
	return list
}

// isGRPC says whether a media type is name, or that with the messages' format
// behind it: application/grpc+proto.
func isGRPC(typ, name string) bool {
	rest, ok := strings.CutPrefix(typ, name)
	return ok && (rest == "" || rest[0] == '+')
}

// joinedBase64 decodes gRPC-Web's text form: pieces of base64, each of which may
// end with padding. It ends at what is none.
func joinedBase64(b []byte) []byte {
	out := make([]byte, 0, base64.StdEncoding.DecodedLen(len(b)))
	for ; len(b) >= 4; b = b[4:] {
		var group [3]byte
		n, err := base64.StdEncoding.Decode(group[:], b[:4])
		if err != nil {
			break
		}
		out = append(out, group[:n]...)
	}
	return out
}
