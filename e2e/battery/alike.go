package battery

import (
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
)

// alike is expect for proxies that write messages anew: what p gets may differ
// from want in what does not change its meaning, namely the order, case and
// white space of fields, the reason, how the body is framed, and a few fields that are
// added. same is false then.
func (p *party) alike(want string) (same bool, err error) {
	same = true
	for want != "" && err == nil {
		head, rest, ok := strings.Cut(want, "\r\n\r\n")
		if !ok || !isHead(head) {
			return same, p.expect(want)
		}
		var alike bool
		want, alike, err = p.message(head+"\r\n\r\n", rest)
		same = same && alike
	}
	return same, err
}

func isHead(s string) bool {
	line, _, _ := strings.Cut(s, "\r\n")
	return strings.HasPrefix(line, "HTTP/1.") || strings.HasSuffix(line, " HTTP/1.1") || strings.HasSuffix(line, " HTTP/1.0")
}

// message reads one message whose wanted head is head, of what wants begins with
// its body; left is what is wanted behind it.
func (p *party) message(head, wants string) (left string, same bool, err error) {
	got, err := p.head()
	if err != nil {
		return "", false, err
	}
	if err := headsAlike(got, head); err != nil {
		return "", false, fmt.Errorf("%s got %s and was to get %s: %w", p.name, clip(got), clip(head), err)
	}
	if got == head && !isChunked(head) {
		n := lengthOf(head, wants)
		return wants[n:], true, p.expect(wants[:n])
	}
	content, whole := wants[:lengthOf(head, wants)], true
	left = wants[len(content):]
	if isChunked(head) {
		content, left, whole = dechunk(wants)
	}
	if !isChunked(got) {
		return left, false, p.expect(content)
	}
	chunks := httputil.NewChunkedReader(p.br)
	body := make([]byte, len(content))
	if n, err := io.ReadFull(chunks, body); string(body[:n]) != content {
		return "", false, fmt.Errorf("%s got the content %s (%v) and was to get %s", p.name, clip(string(body[:n])), err, clip(content))
	}
	if !whole {
		return left, false, nil
	}
	if more, err := io.ReadAll(chunks); len(more) > 0 || err != nil {
		return "", false, fmt.Errorf("%s got %s (%v) behind the content", p.name, clip(string(more)), err)
	}
	for { // the trailers
		line, err := p.br.ReadString('\n')
		if line == "\r\n" || err != nil {
			return left, false, err
		}
	}
}

// framingFields say how a message goes over one connection, and added are those
// that proxies add.
var (
	framingFields = []string{"connection", "keep-alive", "content-length", "transfer-encoding", "trailer"}
	added         = []string{"user-agent", "accept-encoding", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-url", "date", "content-type", "cache-control"}
)

// headsAlike says in what two heads differ that matters.
func headsAlike(got, want string) error {
	gotLine, gotFields := fieldsOf(got)
	wantLine, wantFields := fieldsOf(want)
	if strings.HasPrefix(wantLine, "HTTP/1.") {
		gotLine, wantLine = status(got), status(want)
	}
	if gotLine != wantLine {
		return errors.New("its first line is another")
	}
	for name, values := range wantFields {
		if !slices.Contains(framingFields, name) && !slices.Equal(gotFields[name], values) {
			return fmt.Errorf("the field %q differs", name)
		}
	}
	for name := range gotFields {
		if wantFields[name] == nil && !slices.Contains(framingFields, name) && !slices.Contains(added, name) {
			return fmt.Errorf("the field %q is added", name)
		}
	}
	return nil
}

func fieldsOf(head string) (line string, fields map[string][]string) {
	line, rest, _ := strings.Cut(head, "\r\n")
	fields = map[string][]string{}
	for field := range strings.SplitSeq(strings.TrimSuffix(rest, "\r\n\r\n"), "\r\n") {
		name, value, _ := strings.Cut(field, ":")
		if name != "" {
			fields[strings.ToLower(name)] = append(fields[strings.ToLower(name)], strings.Trim(value, " \t"))
		}
	}
	return line, fields
}

func isChunked(head string) bool {
	_, fields := fieldsOf(head)
	codings := fields["transfer-encoding"]
	return len(codings) > 0 && strings.HasSuffix(strings.ToLower(codings[len(codings)-1]), "chunked") && status(head) != "204" && status(head) != "304"
}

// lengthOf is how much of what is wanted behind a head is its body.
func lengthOf(head, wants string) int {
	_, fields := fieldsOf(head)
	if s := status(head); s == "204" || s == "304" || strings.HasPrefix(s, "1") || isHead(wants) && len(fields["content-length"]) == 0 {
		return 0
	}
	if lengths := fields["content-length"]; len(lengths) > 0 {
		n, _ := strconv.Atoi(lengths[0])
		return min(n, len(wants))
	}
	return len(wants)
}

// dechunk is the content of a beginning of chunks, what is behind the last one,
// and whether that is there.
func dechunk(s string) (content, left string, whole bool) {
	for {
		line, rest, ok := strings.Cut(s, "\r\n")
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 31)
		switch {
		case !ok || err != nil:
			return content, "", false
		case n == 0:
			if strings.HasPrefix(rest, "\r\n") {
				return content, rest[2:], true
			}
			_, left, ok = strings.Cut(rest, "\r\n\r\n")
			return content, left, ok
		}
		m := min(int(n), len(rest))
		content += rest[:m]
		s = strings.TrimPrefix(rest[m:], "\r\n")
	}
}
