package pcap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// ErrNotCapture says that a file is no pcap and no pcapng.
var ErrNotCapture = errors.New("not a capture")

// A File is what is said of one of the files.
type File struct {
	Path        string
	Link        string // what its packets begin with, such as "Linux SLL2"; "" when it has none
	Packets     int64
	First, Last time.Time // of its packets; zero when it has none

	Torn    bool  // its last packet is not whole, or is being written
	Damage  error // why it could not be read to its end
	Overlap bool  // it begins before the one before it ends: they are of two captures
}

// IsCapture says whether a file begins as captures do.
func IsCapture(path string) bool {
	f, err := openRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic, err := readMagic(f)
	return err == nil && (isClassic(magic) || isNext(magic))
}

func readMagic(f *os.File) (magic [4]byte, err error) {
	_, err = f.ReadAt(magic[:], 0)
	return magic, err
}

func isClassic(magic [4]byte) bool {
	switch string(magic[:]) {
	case "\xa1\xb2\xc3\xd4", "\xd4\xc3\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x4d\x3c\xb2\xa1":
		return true
	}
	return false
}

// isNext knows a section header, which is the same in both byte orders.
func isNext(magic [4]byte) bool { return string(magic[:]) == "\x0a\x0d\x0d\x0a" }

// openRegular opens a file, or what a link leads to. Opening a pipe would hang.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// A source gives the packets of a file. What it gives is good until the next.
type source interface {
	ZeroCopyReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error)
	LinkType() layers.LinkType
}

// A reader reads the packets of one file.
type reader struct {
	file   *os.File
	source source
	begins []byte // of the file, by which a ring's next round is noticed
	next   bool   // it is a pcapng
}

// Bytes of a pcap's header, and of a packet's in it.
const (
	fileHeader   = 24
	packetHeader = 16
)

// beginning is how many bytes tell a round of a ring: its header and that of its
// first packet, which has the time.
const beginning = fileHeader + packetHeader

// openReader opens a capture. One that has nothing yet has no source.
func openReader(path string) (*reader, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	r := &reader{file: f}
	if err := r.begin(); err != nil {
		f.Close()
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	return r, nil
}

func (r *reader) begin() error {
	b := make([]byte, beginning)
	n, err := r.file.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return err
	}
	r.begins = b[:n]
	if n == 0 {
		return nil // tcpdump has made it and not written to it
	}
	var magic [4]byte
	copy(magic[:], r.begins)
	in := bufio.NewReaderSize(io.NewSectionReader(r.file, 0, 1<<62), 256<<10)
	switch r.next = isNext(magic); {
	case r.next:
		r.source, err = pcapgo.NewNgReader(in, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	case isClassic(magic) && n < fileHeader:
		return nil // the same
	case isClassic(magic):
		r.source, err = pcapgo.NewReader(in)
	default:
		return ErrNotCapture
	}
	if err != nil {
		r.source = nil
		return fmt.Errorf("%w: %w", ErrNotCapture, err)
	}
	return nil
}

// read returns the next packet. The error is io.EOF at the end, and
// io.ErrUnexpectedEOF when that is in the middle of a packet.
func (r *reader) read() (data []byte, ci gopacket.CaptureInfo, link layers.LinkType, err error) {
	if r.source == nil {
		return nil, ci, 0, io.EOF
	}
	data, ci, err = r.source.ZeroCopyReadPacketData()
	if err == io.EOF && ci.CaptureLength > 0 {
		err = io.ErrUnexpectedEOF // behind a packet's header
	}
	if err != nil {
		return nil, ci, 0, err
	}
	link = r.source.LinkType()
	if r.next && len(ci.AncillaryData) > 0 {
		if own, ok := ci.AncillaryData[0].(layers.LinkType); ok {
			link = own
		}
	}
	return data, ci, link, nil
}

// overwritten says whether the ring has turned under it.
func (r *reader) overwritten() bool {
	b := make([]byte, len(r.begins))
	n, err := r.file.ReadAt(b, 0)
	return err != nil && err != io.EOF || !bytes.Equal(b[:n], r.begins)
}

func (r *reader) close() { r.file.Close() }
