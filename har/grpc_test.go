package har

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// grpcFrame is a length-prefixed message.
func grpcFrame(flags byte, data string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(data)))
	return append(b, data...)
}

func TestGRPCMessages(t *testing.T) {
	two := append(grpcFrame(0, "\x08\x01"), grpcFrame(1, "zipped")...)
	web := append(grpcFrame(0, "\x00\xff"), grpcFrame(0x80, "grpc-status:0\r\n")...)
	in64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	tests := []struct {
		name        string
		contentType string
		body        []byte
		want        []GRPCMessage
	}{
		{"two, one compressed", "application/grpc", two, []GRPCMessage{
			{Type: "send", Size: 2, Data: in64("\x08\x01")}, {Type: "send", Compressed: true, Size: 6, Data: in64("zipped")}}},
		{"a format", "Application/gRPC+Proto; x=1", two[:7], []GRPCMessage{{Type: "send", Size: 2, Data: in64("\x08\x01")}}},
		{"an empty one", "application/grpc", grpcFrame(0, ""), []GRPCMessage{{Type: "send"}}},
		{"cut in its data", "application/grpc", two[:len(two)-2], []GRPCMessage{
			{Type: "send", Size: 2, Data: in64("\x08\x01")}, {Type: "send", Compressed: true, Size: 6, Data: in64("zipp"), Truncated: true}}},
		{"cut in its length", "application/grpc", two[:10], []GRPCMessage{
			{Type: "send", Size: 2, Data: in64("\x08\x01")}, {Type: "send", Compressed: true, Truncated: true}}},
		{"a length beyond everything", "application/grpc", []byte("\x00\xff\xff\xff\xffabc"), []GRPCMessage{
			{Type: "send", Size: 1<<32 - 1, Data: in64("abc"), Truncated: true}}},
		{"trailers of gRPC-Web", "application/grpc-web+proto", web, []GRPCMessage{
			{Type: "send", Size: 2, Data: in64("\x00\xff")}, {Type: "send", Trailers: true, Size: 15, Data: in64("grpc-status:0\r\n")}}},
		{"gRPC-Web as text, each message padded", "application/grpc-web-text",
			[]byte(base64.StdEncoding.EncodeToString(web[:7]) + base64.StdEncoding.EncodeToString(web[7:])), []GRPCMessage{
				{Type: "send", Size: 2, Data: in64("\x00\xff")}, {Type: "send", Trailers: true, Size: 15, Data: in64("grpc-status:0\r\n")}}},
		{"text that is no base64", "application/grpc-web-text+proto", []byte("AAAAAAJoZW!!!!"), []GRPCMessage{
			{Type: "send", Size: 2, Data: in64("h"), Truncated: true}}},
		{"nothing", "application/grpc", nil, nil},
		{"another type", "application/grpcish", two, nil},
		{"JSON", "application/json", two, nil},
	}
	for _, test := range tests {
		if diff := jsonDiff(grpcMessages(test.body, test.contentType, "send"), test.want); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	for cut := range len(two) + 1 {
		got := grpcMessages(two[:cut], "application/grpc", "receive")
		var back []byte
		for i, m := range got {
			b, err := base64.StdEncoding.DecodeString(m.Data)
			if whole := cut >= []int{7, len(two)}[i]; err != nil || m.Truncated == whole {
				t.Fatalf("cut at %d: %+v (%v)", cut, m, err)
			}
			back = append(back, b...)
		}
		if !bytes.HasPrefix([]byte("\x08\x01zipped"), back) {
			t.Fatalf("cut at %d: %q", cut, back)
		}
	}
}

// Ten MiB of empty messages, parameters or events are no list of millions.
func TestPartsAreBounded(t *testing.T) {
	if n := len(grpcMessages(make([]byte, 10<<20), "application/grpc", "send")); n != maxParts {
		t.Errorf("%d messages", n)
	}
	if n := len(formParams(bytes.Repeat([]byte("a&"), 5<<20), "application/x-www-form-urlencoded")); n != maxParts {
		t.Errorf("%d parameters", n)
	}
	part := []byte("--b\r\ncontent-disposition:form-data;name=a\r\n\r\n\r\n")
	if n := len(formParams(bytes.Repeat(part, 150_000), "multipart/form-data; boundary=b")); n != maxParts {
		t.Errorf("%d parts", n)
	}
	if n := len(eventMessages(bytes.Repeat([]byte("data\n\n"), 200_000), nil, nil, time0)); n != maxParts {
		t.Errorf("%d events", n)
	}
}

// A call with its messages in both directions, its trailers and each leg's own
// version.
func TestGRPCEntry(t *testing.T) {
	req := &netlog.Request{
		Method: "POST", URL: "https://api.example/shop.Cart/Add", Version: "HTTP/2",
		Headers: h("content-type", "application/grpc", "te", "trailers", "grpc-encoding", "gzip"),
		Pseudo:  h(":method", "POST", ":scheme", "https", ":authority", "api.example", ":path", "/shop.Cart/Add"),
		Body:    kept(grpcFrame(1, "one")),
	}
	resp := &netlog.Response{
		Status: 200, Version: "HTTP/2.0", Pseudo: h(":status", "200"), HeaderBytes: 42,
		Headers: h("content-type", "application/grpc"), Trailers: h("grpc-status", "0"),
		Body: kept(append(grpcFrame(0, "two"), grpcFrame(0, "")...)),
	}
	e := one(t, req, resp)
	want := []GRPCMessage{{Type: "send", Compressed: true, Size: 3, Data: "b25l"}, {Type: "receive", Size: 3, Data: "dHdv"}, {Type: "receive"}}
	if diff := jsonDiff(e.GRPCMessages, want); diff != "" {
		t.Error(diff)
	}
	if e.Request.HTTPVersion != "HTTP/2" || e.Response.HTTPVersion != "HTTP/2" || e.Response.StatusText != "" {
		t.Errorf("versions %q, %q, statusText %q", e.Request.HTTPVersion, e.Response.HTTPVersion, e.Response.StatusText)
	}
	if e.Request.HeadersSize != -1 || e.Response.HeadersSize != 42 || e.Response.TransferSize != 42+13 {
		t.Errorf("headersSize %d and %d, _transferSize %d", e.Request.HeadersSize, e.Response.HeadersSize, e.Response.TransferSize)
	}
	if len(e.Request.PseudoHeaders) != 4 || e.Request.PseudoHeaders[3].Value != "/shop.Cart/Add" || len(e.Request.Headers) != 3 ||
		len(e.Response.PseudoHeaders) != 1 || len(e.Response.Trailers) != 1 {
		t.Errorf("heads: %+v, %+v", e.Request, e.Response)
	}
	// Neither direction's body was kept, or it could not be decoded: no messages.
	req.Body.Kept = nil
	resp.Headers = append(resp.Headers, netlog.Header{Name: "content-encoding", Value: "br"})
	if e := one(t, req, resp); len(e.GRPCMessages) != 0 {
		t.Errorf("messages out of nothing: %+v", e.GRPCMessages)
	}
}
