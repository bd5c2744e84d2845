package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"strings"
	"time"

	"github.com/agentenv/netlog/capture/pcap"
)

// showCaptures prints what captures hold.
func showCaptures(paths []string, f showFlags, stdout, stderr io.Writer) error {
	if f.follow || f.maxBody != "" || f.filter.given() {
		return misused(errors.New("captures are shown whole: of these flags only --json and --color are for them"), "pick packets with tshark -r FILE -Y FILTER")
	}
	s, err := newScreen(stdout, f.color)
	if err != nil {
		return err
	}
	sum, err := pcap.Summarize(paths...)
	if err != nil {
		return unreadableCapture(err, len(paths))
	}
	out := bufio.NewWriter(stdout)
	if f.json {
		err = printCaptureJSON(out, sum)
	} else {
		err = printCaptures(out, s, sum)
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	return tellOfFiles(sum.Files, stderr)
}

func unreadableCapture(err error, files int) error {
	switch {
	case errors.Is(err, pcap.ErrNotCapture) && files > 1:
		return misused(err, "several files are captures of one network (pcap); show one log or one HAR at a time")
	case errors.Is(err, fs.ErrNotExist):
		return failed(err, "name captures that are there, such as those of a ring: /captures/site.pcap*")
	case errors.Is(err, fs.ErrPermission):
		return failed(err, "captures are readable by the user whose tcpdump wrote them; run this as that user")
	}
	return failed(err, "name captures that tcpdump or Wireshark has written")
}

// tellOfFiles says what is not as it should be in captures that were shown.
func tellOfFiles(files []pcap.File, stderr io.Writer) error {
	var damage error
	for _, f := range files {
		if f.Torn {
			warn(stderr, "the last packet of %q is not whole: it is being written, or its writer was ended", f.Path)
		}
		if f.Overlap {
			warn(stderr, "%q begins before the file before it ends: they may be of two captures, and packets be counted twice", f.Path)
		}
		if f.Damage != nil {
			damage = errors.Join(damage, fmt.Errorf("read %q: after %d packets: %w", f.Path, f.Packets, f.Damage))
		}
	}
	if damage != nil {
		return failed(damage, "what could be read was shown; of a ring that is being written, take copies from agentenv-netlog serve")
	}
	return nil
}

// printCaptures prints the files, the hosts and the flows, a table each.
func printCaptures(out io.Writer, s screen, sum *pcap.Summary) error {
	err := printColumns(out, s, func(row func(cells ...string)) {
		row("file", "packets", "first", "last", "of")
		for _, f := range sum.Files {
			row(f.Path, fmt.Sprint(f.Packets), dateText(f.First), dateText(f.Last), f.Link)
		}
	})
	if err == nil && len(sum.Hosts) > 0 {
		err = printColumns(out, s, func(row func(cells ...string)) {
			row("host", "packets", "sent", "received", "names")
			for _, h := range sum.Hosts {
				row(h.Address.String(), fmt.Sprint(h.Packets), sizeText(h.Sent), sizeText(h.Received), strings.Join(h.Names, " "))
			}
		})
	}
	if err == nil && len(sum.Flows) > 0 {
		err = printColumns(out, s, func(row func(cells ...string)) {
			row("began", "took", "protocol", "client", "server", "packets", "sent", "received", "what")
			for _, f := range sum.Flows {
				flowRows(f, row)
			}
		})
	}
	if err != nil {
		return err
	}
	rest := ""
	for _, more := range []struct {
		what  string
		count int64
	}{
		{"packets that are of no flow", sum.NoFlow},
		{"packets of flows that are not shown", sum.Further},
		{"requests that are not shown", sum.FurtherRequests},
	} {
		if more.count > 0 {
			rest += fmt.Sprintf("; %s: %d", more.what, more.count)
		}
	}
	_, err = fmt.Fprintf(out, "packets: %d, %s in %v; flows: %d%s\n", sum.Packets, sizeText(sum.Bytes),
		sum.Last.Sub(sum.First).Round(time.Millisecond), len(sum.Flows), rest)
	return err
}

// flowRows are a flow's: what it said of itself, a line each.
func flowRows(f *pcap.Flow, row func(cells ...string)) {
	said := f.Requests
	if f.TLS {
		said = append(said[:len(said):len(said)], strings.TrimSpace("TLS "+f.ServerName))
	}
	first := ""
	if len(said) > 0 {
		first, said = said[0], said[1:]
	}
	row(f.First.Format("15:04:05.000"), f.Last.Sub(f.First).Round(time.Millisecond).String(), f.Protocol,
		portText(f.Client), portText(f.Server), fmt.Sprint(f.Packets), sizeText(f.Sent), sizeText(f.Received), first)
	for _, more := range said {
		row("", "", "", "", "", "", "", "", more)
	}
}

// portText is an address and its port, which not every protocol has.
func portText(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

func dateText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}

// printColumns prints rows of as many cells each, of which the first is a heading,
// and an empty line. It goes through them twice, and holds none.
func printColumns(out io.Writer, s screen, each func(row func(cells ...string))) error {
	var widths []int
	each(func(texts ...string) {
		for i, text := range texts {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cells(printable(text)))
		}
	})
	var err error
	color := dim
	each(func(texts ...string) {
		var line strings.Builder
		for i, text := range texts {
			line.WriteString(pad(printable(text), widths[i], false))
			line.WriteString(gap)
		}
		shown := strings.TrimRight(line.String(), " ")
		if s.columns > 0 {
			shown = s.fit(shown, s.columns)
		}
		if err == nil {
			_, err = fmt.Fprintln(out, s.paint(color, shown))
		}
		color = plain
	})
	if err == nil {
		_, err = fmt.Fprintln(out)
	}
	return err
}

// The lines of show --json for captures, whose help describes them.
type (
	captureSummary struct {
		Kind    string `json:"kind"` // "capture"
		Packets int64  `json:"packets"`
		Bytes   int64  `json:"bytes"`
		captureSpan
		Flows           int   `json:"flows"`
		NoFlow          int64 `json:"noFlow,omitempty"`
		Further         int64 `json:"further,omitempty"`
		FurtherRequests int64 `json:"furtherRequests,omitempty"`
	}
	captureFile struct {
		Kind    string `json:"kind"` // "file"
		Path    string `json:"path"`
		Packets int64  `json:"packets"`
		captureSpan
		Link    string `json:"link,omitempty"`
		Torn    bool   `json:"torn,omitempty"`
		Overlap bool   `json:"overlap,omitempty"`
		Error   string `json:"error,omitempty"`
	}
	captureHost struct {
		Kind     string   `json:"kind"` // "host"
		Address  string   `json:"address"`
		Names    []string `json:"names,omitempty"`
		Packets  int64    `json:"packets"`
		Sent     int64    `json:"sent"`
		Received int64    `json:"received"`
	}
	captureFlow struct {
		Kind     string `json:"kind"` // "flow"
		Protocol string `json:"protocol"`
		Client   string `json:"client"`
		Server   string `json:"server"`
		captureSpan
		Packets    int64    `json:"packets"`
		Sent       int64    `json:"sent"`
		Received   int64    `json:"received"`
		TLS        bool     `json:"tls,omitempty"`
		ServerName string   `json:"serverName,omitempty"`
		Requests   []string `json:"requests,omitempty"`
	}
	captureSpan struct {
		First time.Time `json:"first,omitzero"`
		Last  time.Time `json:"last,omitzero"`
	}
)

func printCaptureJSON(out io.Writer, sum *pcap.Summary) error {
	line := func(v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = out.Write(append(asciiJSON(b), '\n'))
		return err
	}
	if err := line(captureSummary{"capture", sum.Packets, sum.Bytes, captureSpan{sum.First, sum.Last}, len(sum.Flows), sum.NoFlow, sum.Further, sum.FurtherRequests}); err != nil {
		return err
	}
	for _, f := range sum.Files {
		l := captureFile{Kind: "file", Path: f.Path, Packets: f.Packets, captureSpan: captureSpan{f.First, f.Last}, Link: f.Link, Torn: f.Torn, Overlap: f.Overlap}
		if f.Damage != nil {
			l.Error = f.Damage.Error()
		}
		if err := line(l); err != nil {
			return err
		}
	}
	for _, h := range sum.Hosts {
		if err := line(captureHost{"host", h.Address.String(), h.Names, h.Packets, h.Sent, h.Received}); err != nil {
			return err
		}
	}
	for _, f := range sum.Flows {
		if err := line(captureFlow{"flow", f.Protocol, portText(f.Client), portText(f.Server), captureSpan{f.First, f.Last},
			f.Packets, f.Sent, f.Received, f.TLS, f.ServerName, f.Requests}); err != nil {
			return err
		}
	}
	return nil
}
