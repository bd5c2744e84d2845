package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A grpcServer answers as its callers wish, and waits where one asks for a pause.
type grpcServer struct {
	pb.UnimplementedTestServiceServer
	ended chan error // why the callers of paused calls went away
}

// refusedSize is that of a message which ends its call.
const refusedSize = 13

func payload(n int32) *pb.Payload { return &pb.Payload{Body: pattern(int(n))} }

func (s *grpcServer) UnaryCall(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	grpc.SetHeader(ctx, metadata.Pairs("begun", "yes", "raw-bin", "\x00\xff"))
	grpc.SetTrailer(ctx, metadata.Pairs("ended", "yes"))
	if st := r.ResponseStatus; st != nil {
		detailed, err := status.New(codes.Code(st.Code), st.Message).WithDetails(r.Payload)
		if err != nil {
			return nil, err
		}
		return nil, detailed.Err()
	}
	return &pb.SimpleResponse{Payload: r.Payload}, nil
}

func (s *grpcServer) StreamingInputCall(up grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	size := int32(0)
	for {
		r, err := up.Recv()
		if err == io.EOF {
			return up.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: size})
		}
		if err != nil {
			return err
		}
		if len(r.Payload.Body) == refusedSize {
			return status.Error(codes.Aborted, "no more of it")
		}
		size += int32(len(r.Payload.Body))
	}
}

func (s *grpcServer) StreamingOutputCall(r *pb.StreamingOutputCallRequest, down grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	down.SetTrailer(metadata.Pairs("ended", "yes"))
	return s.send(r, down)
}

func (s *grpcServer) FullDuplexCall(both grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	for {
		r, err := both.Recv()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.send(r, both)
		}
		if err != nil {
			return err
		}
	}
}

// send sends what r asks for.
func (s *grpcServer) send(r *pb.StreamingOutputCallRequest, down grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for _, p := range r.ResponseParameters {
		if p.IntervalUs > 0 { // for ever
			<-down.Context().Done()
			s.ended <- down.Context().Err()
			return down.Context().Err()
		}
		if err := down.Send(&pb.StreamingOutputCallResponse{Payload: payload(p.Size)}); err != nil {
			return err
		}
	}
	return nil
}

// A grpcCall is a call, and how its client has it end.
type grpcCall struct {
	method string
	do     func(ctx context.Context, c pb.TestServiceClient, m *messages) error
	code   codes.Code
	failed []string // in the log: why, one of these; nil: it did not fail
	// The messages as the HAR has them, and trailers that it must have.
	messages messages
	trailers []string
}

// messages are those of a call, in order.
type messages struct{ sent, received []proto.Message }

func sizes(list ...int32) *pb.StreamingOutputCallRequest {
	r := &pb.StreamingOutputCallRequest{}
	for _, n := range list {
		p := &pb.ResponseParameters{Size: n}
		if n < 0 {
			p = &pb.ResponseParameters{IntervalUs: 1}
		}
		r.ResponseParameters = append(r.ResponseParameters, p)
	}
	return r
}

// grpcCalls are each kind of call, each kind of end, and messages from none to more
// than a window.
func grpcCalls() []grpcCall {
	unary := func(r *pb.SimpleRequest, options ...grpc.CallOption) func(context.Context, pb.TestServiceClient, *messages) error {
		return func(ctx context.Context, c pb.TestServiceClient, m *messages) error {
			m.sent = append(m.sent, r)
			var header, trailer metadata.MD
			answer, err := c.UnaryCall(ctx, r, append(options, grpc.Header(&header), grpc.Trailer(&trailer))...)
			if err == nil {
				m.received = append(m.received, answer)
			}
			if got := header.Get("raw-bin"); err == nil && (len(got) != 1 || got[0] != "\x00\xff") || len(trailer.Get("ended")) != 1 {
				return fmt.Errorf("the header %v, the trailer %v", header, trailer)
			}
			return err
		}
	}
	receive := func(stream grpc.ServerStreamingClient[pb.StreamingOutputCallResponse], m *messages) error {
		answer, err := stream.Recv()
		if err == nil {
			m.received = append(m.received, answer)
		}
		return err
	}
	down := func(r *pb.StreamingOutputCallRequest, first func(cancel func())) func(context.Context, pb.TestServiceClient, *messages) error {
		return func(ctx context.Context, c pb.TestServiceClient, m *messages) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			m.sent = append(m.sent, r)
			stream, err := c.StreamingOutputCall(ctx, r)
			for err == nil {
				if err = receive(stream, m); err == nil && first != nil {
					first(cancel)
				}
			}
			if err == io.EOF {
				err = nil
			}
			return err
		}
	}
	return []grpcCall{
		{method: "UnaryCall", do: unary(&pb.SimpleRequest{Payload: payload(100)}), trailers: []string{"grpc-status 0", "ended yes"}},
		{method: "UnaryCall", do: unary(&pb.SimpleRequest{}), trailers: []string{"grpc-status 0"}},
		{method: "UnaryCall", do: unary(&pb.SimpleRequest{Payload: payload(3_000_000)})},
		{method: "UnaryCall", do: unary(&pb.SimpleRequest{Payload: payload(20_000)}, grpc.UseCompressor("gzip"))},
		{
			method: "UnaryCall", code: codes.FailedPrecondition,
			do: unary(&pb.SimpleRequest{Payload: payload(10), ResponseStatus: &pb.EchoStatus{Code: int32(codes.FailedPrecondition), Message: "no: 100 % über"}}),
		},
		{
			method: "UnimplementedCall", code: codes.Unimplemented,
			do: func(ctx context.Context, c pb.TestServiceClient, m *messages) error {
				m.sent = append(m.sent, &pb.Empty{})
				_, err := c.UnimplementedCall(ctx, &pb.Empty{})
				return err
			},
		},
		{
			method: "StreamingInputCall", trailers: []string{"grpc-status 0"},
			do: func(ctx context.Context, c pb.TestServiceClient, m *messages) error {
				up, err := c.StreamingInputCall(ctx)
				if err != nil {
					return err
				}
				for _, n := range []int32{1, 0, 70_000, 200_000, 5} {
					r := &pb.StreamingInputCallRequest{Payload: payload(n)}
					m.sent = append(m.sent, r)
					if err := up.Send(r); err != nil {
						return err
					}
				}
				answer, err := up.CloseAndRecv()
				if err == nil {
					m.received = append(m.received, answer)
				}
				return err
			},
		},
		{
			// The server ends the call while its client has not ended its side.
			method: "StreamingInputCall", code: codes.Aborted,
			do: func(ctx context.Context, c pb.TestServiceClient, m *messages) error {
				up, err := c.StreamingInputCall(ctx)
				if err != nil {
					return err
				}
				r := &pb.StreamingInputCallRequest{Payload: payload(refusedSize)}
				m.sent = append(m.sent, r)
				if err := up.Send(r); err != nil {
					return err
				}
				return up.RecvMsg(new(pb.StreamingInputCallResponse))
			},
		},
		{method: "StreamingOutputCall", do: down(sizes(1, 0, 70_000, 200_000, 5), nil), trailers: []string{"grpc-status 0", "ended yes"}},
		{method: "StreamingOutputCall", do: down(sizes(), nil)},
		{
			// Each message is an answer to the last one: nothing may be held back.
			method: "FullDuplexCall", trailers: []string{"grpc-status 0"},
			do: func(ctx context.Context, c pb.TestServiceClient, m *messages) error {
				both, err := c.FullDuplexCall(ctx)
				for _, n := range []int32{3, 0, 100_000, 1, 2} {
					if err != nil {
						return err
					}
					r := sizes(n)
					r.Payload = payload(n)
					m.sent = append(m.sent, r)
					if err = both.Send(r); err == nil {
						err = receive(both, m)
					}
				}
				if err != nil {
					return err
				}
				both.CloseSend()
				if _, err = both.Recv(); err == io.EOF {
					err = nil
				}
				return err
			},
		},
		{
			method: "StreamingOutputCall", code: codes.DeadlineExceeded, failed: []string{"client_gone", "reset"}, // both sides know the time
			do: func(ctx context.Context, c pb.TestServiceClient, m *messages) error {
				ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // for the server to be asked before, on a busy machine too
				defer cancel()
				return down(sizes(7, -1), nil)(ctx, c, m)
			},
		},
		{method: "StreamingOutputCall", code: codes.Canceled, failed: []string{"client_gone"}, do: down(sizes(7, -1), func(cancel func()) { cancel() })},
	}
}

// grpc-go calls a grpc-go server: every kind of call, with deadlines, cancellation,
// statuses and compression. The log and the HAR have each call once, with the
// messages that the client has sent and got.
func TestGRPC(t *testing.T) {
	w := newWorld(t)
	p := w.proxy("--keep-types", "all", "--max-response-body", "4MiB")
	calls := grpcCalls()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	impl := &grpcServer{ended: make(chan error, len(calls))}
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&w.ca.leaf.tls)))
	pb.RegisterTestServiceServer(server, impl)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	host := l.Addr().String()

	conn := p.dialGRPC(host)
	c := pb.NewTestServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range calls {
		err := calls[i].do(ctx, c, &calls[i].messages)
		if status.Code(err) != calls[i].code {
			t.Errorf("%d. %s: %v", i, calls[i].method, err)
		}
		if calls[i].code == codes.FailedPrecondition {
			st := status.Convert(err)
			if len(st.Details()) != 1 || !proto.Equal(st.Details()[0].(proto.Message), payload(10)) || st.Message() != "no: 100 % über" {
				t.Errorf("%d. the status is %v, its details %v", i, st, st.Details())
			}
		}
		if calls[i].failed != nil { // the server is told, and not at the test's end
			select {
			case <-impl.ended:
			case <-ctx.Done():
				t.Errorf("%d. the server was not told", i)
			}
		}
	}
	conn.Close()
	p.stop()
	log := readLog(t, p.log)
	spoke(t, log.exchanges, "HTTP/2")
	har := convert(t, p.log)
	if len(log.exchanges) != len(calls) || len(har) != len(calls) {
		t.Fatalf("the log has %d calls, the HAR %d, of %d", len(log.exchanges), len(har), len(calls))
	}
	for i, call := range calls {
		t.Run(fmt.Sprint(i, " ", call.method), func(t *testing.T) { recordedCall(t, call, log.exchanges[i], har[i]) })
	}
}

// dialGRPC is a client's connection through the proxy.
func (p *proxy) dialGRPC(host string) *grpc.ClientConn {
	p.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(contentOf(p.t, p.trust))
	conn, err := grpc.NewClient("passthrough:///"+host,
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots})),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return p.connect(host) }))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	return conn
}

// recordedCall compares an entry with the call.
func recordedCall(t *testing.T, call grpcCall, e entry, h harEntry) {
	r, a := e.open.Request, e.end.Response
	if !strings.HasSuffix(r.URL, "/grpc.testing.TestService/"+call.method) || r.Method != "POST" || a == nil || a.Status != 200 {
		t.Fatalf("%s %s: %+v", r.Method, r.URL, a)
	}
	if r.header("te") != "trailers" || r.header("content-type") != "application/grpc" {
		t.Errorf("the request's headers are %q", r.Headers)
	}
	if call.code == codes.DeadlineExceeded && !strings.HasSuffix(r.header("grpc-timeout"), "u") && !strings.HasSuffix(r.header("grpc-timeout"), "m") {
		t.Errorf("grpc-timeout is %q", r.header("grpc-timeout"))
	}
	inTime := call.code == codes.DeadlineExceeded && e.end.Failed == nil // the server knew the time first, and said so
	switch {
	case call.failed == nil, inTime:
		went(t, e)
	case e.end.Failed == nil || !slices.Contains(call.failed, e.end.Failed.Code) || !strings.HasPrefix(e.end.Failed.Reason, "CANCEL") || a.Complete:
		t.Errorf("failed %+v, the answer is complete: %v", e.end.Failed, a.Complete)
	}
	behind := a.Trailers
	if len(behind) == 0 && call.failed == nil { // RFC 9113 calls it no trailer section where it is the only one
		behind = a.Headers
	}
	for _, want := range call.trailers {
		name, value, _ := strings.Cut(want, " ")
		if !slices.ContainsFunc(a.Trailers, func(f []string) bool { return f[0] == name && f[1] == value }) {
			t.Errorf("no %q among the trailers %q", want, a.Trailers)
		}
	}
	if want := fmt.Sprint(int(call.code)); (call.failed == nil || inTime) && !slices.ContainsFunc(behind, func(f []string) bool { return f[0] == "grpc-status" && f[1] == want }) {
		t.Errorf("no grpc-status of %s in %q", want, behind)
	}
	if call.code == codes.FailedPrecondition && !slices.ContainsFunc(behind, func(f []string) bool { return f[0] == "grpc-status-details-bin" }) {
		t.Errorf("no details of the status in %q", behind)
	}
	coding := r.header("grpc-encoding")
	sameGRPC(t, "sent", call.messages.sent, h, "send", coding)
	sameGRPC(t, "received", call.messages.received, h, "receive", coding)
}

// sameGRPC compares the HAR's messages of one direction with the client's.
func sameGRPC(t *testing.T, who string, want []proto.Message, h harEntry, direction, coding string) {
	t.Helper()
	var got []harGRPC
	for _, m := range h.GRPC {
		if m.Type == direction {
			got = append(got, m)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the HAR has %d messages %s, the client %d", len(got), who, len(want))
		return
	}
	for i, m := range got {
		data, err := base64.StdEncoding.DecodeString(m.Data)
		if m.Compressed != (coding != "") || m.Truncated || m.Size != int64(len(data)) {
			t.Errorf("message %d %s: compressed %v, truncated %v, %d bytes of %d", i, who, m.Compressed, m.Truncated, len(data), m.Size)
		}
		if err == nil && m.Compressed {
			data, err = gunzip(data)
		}
		if err != nil {
			t.Errorf("message %d %s: %v", i, who, err)
			continue
		}
		back := want[i].ProtoReflect().New().Interface()
		if err := proto.Unmarshal(data, back); err != nil || !proto.Equal(back, want[i]) {
			t.Errorf("message %d %s is another one: %v", i, who, err)
		}
	}
}

func gunzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
