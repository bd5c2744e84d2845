package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzRequest: what is accepted, net/http reads the same way; the cut of the
// stream changes nothing; and every byte is accounted for.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"\r\nGET http://u@A.example:80/b?c HTTP/1.0\r\nA: b\r\n\r\nrest",
		"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\nhello",
		"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\nTrailer: A\r\n\r\n0\r\n\r\n",
		"GET http://a.example#b HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: [::1]:8080\r\nX-\xc3: \xff\t\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : a\r\nA: b\r\n c\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Upgrade\r\nUpgrade: websocket\r\nX: 1\r\nTE: trailers\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var r Request
		outcome := ""
		for cut, br := range cuts(string(stream)) {
			err := ReadRequest(br, &r, testLimit)
			got := fmt.Sprintf("%s %q %q %s %d %s", said(err), r.Method, r.Target, r.Version, r.Minor, pairs(r.Fields))
			if outcome != "" && got != outcome {
				t.Fatalf("%s: %s; before: %s", cut, got, outcome)
			}
			outcome = got
			left := rest(t, br)
			if !strings.HasSuffix(string(stream), string(r.Raw)+left) {
				t.Fatalf("%s: took %q, left %q", cut, r.Raw, left)
			}
			if err == nil && string(r.Line)+joined(r.Fields)+"\r\n" != string(r.Raw) {
				t.Fatalf("%s: the lines are not the head", cut)
			}
		}
		readsOn := errors.New("it reads on")
		br := bufio.NewReader(io.MultiReader(bytes.NewReader(stream), iotest.ErrReader(readsOn)))
		br.Peek(1)
		here := HeadIsHere(br)
		if err := ReadRequest(br, &r, testLimit); err != nil {
			if here && errors.Is(err, readsOn) {
				t.Fatal("the head was said to be here")
			}
			return
		}
		sameFields(t, r.Fields, r.Raw[len(r.Line):])
		forwardAgain(t, &r)
		target, err := ParseTarget(r.Method, r.Target)
		if err != nil {
			return // refused a step later
		}
		framing, err := r.Framing()
		if err != nil {
			t.Fatalf("accepted, then refused: %v", err)
		}
		theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.Raw)))
		if err != nil {
			if !acceptedByUsAlone(&r, target) {
				t.Fatalf("net/http refuses it: %v", err)
			}
			return
		}
		if theirs.Method != string(r.Method) || theirs.RequestURI != string(r.Target) || theirs.Proto != r.Version {
			t.Fatalf("net/http reads %s %q %s", theirs.Method, theirs.RequestURI, theirs.Proto)
		}
		host, _ := r.Fields.Get("host")
		ours := string(host)
		if target.Form == AbsoluteForm || target.Form == AuthorityForm {
			ours = target.Host
			if h, _, err := SplitHostPort(theirs.Host, 0); err != nil || h != ours {
				t.Fatalf("net/http reads the host %q", theirs.Host)
			}
		} else if theirs.Host != ours {
			t.Fatalf("net/http reads the host %q", theirs.Host)
		}
		want := Framing{Length, theirs.ContentLength}
		switch {
		case len(theirs.TransferEncoding) > 0:
			want = Framing{Kind: ByChunks}
		case theirs.ContentLength == 0 && framing.Kind == None:
			want = Framing{}
		}
		if framing != want {
			t.Fatalf("framing %+v, net/http's %+v", framing, want)
		}
	})
}

// acceptedByUsAlone lists why net/http may refuse a request that is accepted here.
func acceptedByUsAlone(r *Request, target Target) bool {
	if r.Fields.HasToken("transfer-encoding", "chunked") && r.Fields.Count("transfer-encoding") > 1 {
		return true // several fields
	}
	if v, ok := r.Fields.Get("transfer-encoding"); ok && !equalFold(v, "chunked") {
		return true // gzip, chunked
	}
	if r.Fields.Count("trailer") > 0 {
		return true // it looks into Trailer
	}
	// It parses the URL, which goes on as it came.
	switch target.Form {
	case OriginForm:
		return bytes.IndexByte(r.Target, '%') >= 0
	case AbsoluteForm:
		return bytes.ContainsAny(r.Target, "%[#") || target.Userinfo
	case AuthorityForm:
		return bytes.IndexByte(r.Target, '[') >= 0
	}
	return false
}

// sameFields compares with net/textproto's reading of the same lines.
func sameFields(t *testing.T, ours FieldList, lines []byte) {
	t.Helper()
	theirs, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(lines))).ReadMIMEHeader()
	if err != nil {
		t.Fatalf("net/textproto refuses the fields: %v", err)
	}
	mine := textproto.MIMEHeader{}
	for i := range ours {
		name := textproto.CanonicalMIMEHeaderKey(string(ours[i].Name))
		mine[name] = append(mine[name], string(ours[i].Value))
	}
	if !maps.EqualFunc(mine, theirs, slices.Equal) {
		t.Fatalf("fields %q, net/textproto's %q", mine, theirs)
	}
}

// forwardAgain: what is passed on is accepted again, with the same framing, and
// passed on once more as it is.
func forwardAgain(t *testing.T, r *Request) {
	t.Helper()
	for _, o := range []ForwardOptions{{}, {Upgrade: true}} {
		once := r.AppendForward(nil, o)
		var again Request
		if err := ReadRequest(bufio.NewReader(bytes.NewReader(once)), &again, testLimit); err != nil {
			t.Fatalf("passed on, it is refused: %v: %q", err, once)
		}
		a, _ := r.Framing()
		b, _ := again.Framing()
		if a != b {
			t.Fatalf("passed on, its framing is %+v: %q", b, once)
		}
		if twice := again.AppendForward(nil, o); !bytes.Equal(once, twice) {
			t.Fatalf("once %q, twice %q", once, twice)
		}
	}
}

// FuzzAnswer: the cut of the stream changes nothing, no byte is lost, and where
// net/http reads the answer too it reads the same.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\nbody",
		"HTTP/1.0 404\r\nContent-Length: 5, 5\r\n\r\nhello",
		"\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\nConnection: x, close\r\nX: 1\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"HTTP/1.1 200 OK\nA: b\n\n",
		"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
		"SSH-2.0-x\r\n",
		"HTTP/1.7  299 \xff\r\nA B\xff:\r\n \r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var a Answer
		outcome := ""
		for cut, br := range cuts(string(stream)) {
			err := ReadAnswer(br, &a, testLimit)
			got := said(err) + string(a.Raw)
			if err == nil {
				got = fmt.Sprintf("%s %d %d %q %s", a.Version, a.Minor, a.Status, a.Reason, pairs(a.Fields))
			}
			if outcome != "" && got != outcome {
				t.Fatalf("%s: %s; before: %s", cut, got, outcome)
			}
			outcome = got
			if left := rest(t, br); string(a.Raw)+left != string(stream) {
				t.Fatalf("%s: took %q, left %q", cut, a.Raw, left)
			}
		}
		if ReadAnswer(bufio.NewReader(bytes.NewReader(stream)), &a, testLimit) != nil {
			return
		}
		for _, o := range []ForwardOptions{{}, {Upgrade: true}} {
			once := a.AppendForward(nil, o)
			var again Answer
			if err := ReadAnswer(bufio.NewReader(bytes.NewReader(once)), &again, testLimit); err != nil {
				t.Fatalf("passed on, it is unreadable: %v: %q", err, once)
			}
			if twice := again.AppendForward(nil, o); !bytes.Equal(once, twice) {
				t.Fatalf("once %q, twice %q", once, twice)
			}
		}
		head := a.Raw[a.top:]
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: "GET"})
		framing, ferr := a.Framing("GET")
		if err != nil || bytes.Contains(head, []byte("\r\n ")) || bytes.Contains(head, []byte("\r\n\t")) {
			return // it is stricter, and joins folded lines otherwise
		}
		if ferr != nil {
			t.Fatalf("net/http reads a framing, not so here: %v", ferr)
		}
		if theirs.StatusCode != a.Status || theirs.Proto != a.Version {
			t.Fatalf("net/http reads %s %d", theirs.Proto, theirs.StatusCode)
		}
		sameFields(t, a.Fields, head[len(a.Line):])
		want := Framing{Length, theirs.ContentLength}
		switch {
		case a.Status < 200 || a.Status == 204 || a.Status == 304:
			want = Framing{}
		case len(theirs.TransferEncoding) > 0:
			want = Framing{Kind: ByChunks}
		case theirs.ContentLength < 0 || a.Minor == 0 && framing.Kind == UntilClose:
			want = Framing{Kind: UntilClose} // it passes over a Transfer-Encoding in HTTP/1.0
		}
		if framing != want && a.Fields.Count("transfer-encoding") <= 1 {
			t.Fatalf("framing %+v, net/http's %+v", framing, want)
		}
	})
}

// FuzzChunked compares with net/http's reader: the same content, or both refuse,
// or what is listed here is refused by us alone.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{
		"5\r\nhello\r\n0\r\n\r\nnext",
		"1;a=\"b\"\r\na\r\nA\r\n0123456789\r\n0\r\nX-A: 1\r\n\r\n",
		"5 \r\nhello\r\n0\r\n\r\n",
		"7fffffffffffffff\r\nx",
		"8000000000000000\r\nx",
		"1\na\n0\n\n",
		"-1\r\n",
		"0\r\nA : b\r\n\r\n",
	} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		if len(stream) > 4000 {
			return // below net/http's limits for a line and for extensions
		}
		var c Chunked
		taken, payload, err := follow(&c, string(stream), len(stream)+1)
		var cut Chunked
		taken2, payload2, err2 := follow(&cut, string(stream), int(size)+1)
		if taken != taken2 || payload != payload2 || said(err) != said(err2) || pairs(c.Trailers()) != pairs(cut.Trailers()) {
			t.Fatalf("in cuts of %d: %q %q %v; whole: %q %q %v", int(size)+1, taken2, payload2, err2, taken, payload, err)
		}
		if !strings.HasPrefix(string(stream), taken) || err == nil && !c.Done() && taken != string(stream) {
			t.Fatalf("took %q", taken)
		}
		lenient := Chunked{Lenient: true}
		if taken3, payload3, err3 := follow(&lenient, string(stream), len(stream)+1); err == nil && c.Done() && (taken3 != taken || payload3 != payload || err3 != nil) {
			t.Fatalf("lenient: %q %q %v", taken3, payload3, err3)
		}

		theirs, terr := io.ReadAll(httputil.NewChunkedReader(bufio.NewReader(bytes.NewReader(stream))))
		inTrailers := c.state >= inTrailers
		switch {
		case inTrailers: // it leaves the trailers to its caller
			if terr != nil || string(theirs) != payload {
				t.Fatalf("payload %q; net/http's %q, %v", payload, theirs, terr)
			}
		case err != nil && terr == nil:
			if !refusedByUsAlone(string(stream), len(taken)) {
				t.Fatalf("net/http reads %q; here: %v", theirs, err)
			}
		case err == nil && terr != nil && strings.Contains(terr.Error(), "too much non-data"):
			// its allowance overflows for a size near 2^63
		case err == nil && !errors.Is(terr, io.ErrUnexpectedEOF):
			t.Fatalf("unfinished here; net/http: %q, %v", theirs, terr)
		case !strings.HasPrefix(string(theirs), payload):
			t.Fatalf("payload %q; net/http's %q, %v", payload, theirs, terr)
		}
	})
}

// refusedByUsAlone says whether the byte at which the framing was refused is one
// that net/http passes over.
func refusedByUsAlone(stream string, at int) bool {
	switch c := stream[at]; {
	case isSpace(c): // behind a size
		return true
	case isControl(c): // in an extension
		line := stream[strings.LastIndexByte(stream[:at], '\n')+1 : at]
		return strings.IndexByte(line, ';') >= 0
	}
	return false
}

// FuzzTarget: what ParseTarget accepts it accepts again from its parts.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"/a?b", "http://u:p@A.example.:80/b", "https://[::1]:443?x", "a.example:443", "*"} {
		f.Add("GET", s)
		f.Add("CONNECT", s)
		f.Add("OPTIONS", s)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		got, err := ParseTarget([]byte(method), []byte(target))
		if err != nil || got.Host == "" {
			return
		}
		host, err := CanonicalHost(got.Host)
		if err != nil || host != got.Host {
			t.Fatalf("the host %q is canonically %q, %v", got.Host, host, err)
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		again := fmt.Sprintf("%s:%d", host, got.Port)
		if got.Form == AbsoluteForm {
			again = got.Scheme + "://" + again + string(got.Path)
		}
		if got.Form == AbsoluteForm && string(got.Path) == "*" {
			return
		}
		second, err := ParseTarget([]byte(method), []byte(again))
		second.Userinfo = got.Userinfo
		if err != nil || fmt.Sprint(second) != fmt.Sprint(got) {
			t.Fatalf("%q gives %+v; %q gives %+v, %v", target, got, again, second, err)
		}
	})
}
