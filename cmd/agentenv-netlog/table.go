package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// A row is what a table has of one exchange or tunnel.
type row struct {
	id                        int64
	t                         time.Time
	method, status, kind, url string
	size                      int64
}

// printTable prints the exchanges and tunnels of a log of one process in the
// order in which they began, as a HAR has them. It holds a row for each.
func printTable(w io.Writer, log *netlog.Log) error {
	rows, err := readRows(log)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "method\tstatus\ttype\t%8s\turl\n", "bytes")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%8d\t%s\n", r.method, r.status, r.kind, r.size, r.url)
	}
	return t.Flush()
}

func readRows(log *netlog.Log) ([]row, error) {
	byID := make(map[int64]*row)
	scanner := log.Scan()
	var b []byte
	for scanner.Next() {
		if e := scanner.Head().Event; e != netlog.EventOpen && e != netlog.EventEnd {
			continue
		}
		var err error
		if b, err = log.ReadLine(scanner.Pos(), b[:0]); err != nil {
			return nil, err
		}
		line, err := netlog.ParseLine(b)
		if err != nil {
			return nil, err
		}
		switch {
		case line.Open != nil:
			byID[line.ID] = openRow(line.ID, line.Open)
		case line.End != nil && byID[line.ID] != nil:
			byID[line.ID].end(line.End)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	rows := make([]row, 0, len(byID))
	for _, r := range byID {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(a.t.Compare(b.t), cmp.Compare(a.id, b.id)) })
	return rows, nil
}

func openRow(id int64, o *netlog.Open) *row {
	r := &row{id: id, t: o.Time, status: "open", kind: "-"}
	if o.Request == nil {
		r.method, r.kind, r.url = "CONNECT", "tunnel", o.Target
		return r
	}
	r.method, r.url = o.Request.Method, o.Request.URL
	return r
}

func (r *row) end(e *netlog.End) {
	switch {
	case e.Failed != nil:
		r.status = "failed: " + string(e.Failed.Code)
	case e.Refused != nil:
		r.status = "refused: " + string(e.Refused.Code)
	case e.Response != nil:
		r.status = strconv.Itoa(e.Response.Status)
	default:
		r.status = "-"
	}
	if e.Response != nil {
		r.kind = mediaType(e.Response.Headers)
		if e.Response.Body != nil {
			r.size = e.Response.Body.Size
		}
	}
	if s := e.WebSocket; s != nil {
		r.kind, r.size = "websocket", s.Received.Bytes
	}
	if t := e.Tunnel; t != nil {
		r.size = t.Received
	}
}

// mediaType is the Content-Type without its parameters, and the coding.
func mediaType(headers []netlog.Header) string {
	kind, coding := "-", ""
	for _, h := range headers {
		switch strings.ToLower(h.Name) {
		case "content-type":
			kind, _, _ = strings.Cut(h.Value, ";")
		case "content-encoding":
			coding = " " + h.Value
		}
	}
	return kind + coding
}
