package capture

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"time"
)

// Classic pcap (draft-ietf-opsawg-pcap): a header, then records, each a header
// of its own and the packet.
const (
	headerSize = 24
	recordSize = 16
	maxPacket  = 256 << 10 // libpcap's MAXIMUM_SNAPLEN, which "tcpdump -s 0" asks for
)

// A Head is what tells one round of the ring from the next, which overwrites the
// same file: the file's header and its first packet. It stays the same while
// the file grows.
type Head struct {
	First  time.Time // when the first packet was captured; zero when there is none that is whole
	Digest string    // of header and first packet, in hexadecimal
}

// ReadHead reads the head of a file of size bytes. One that is no classic pcap
// has a Digest of its beginning.
func ReadHead(r io.ReaderAt, size int64) (Head, error) {
	b, err := head(r, size)
	if err != nil {
		return Head{}, err
	}
	var h Head
	if f, ok := parseFormat(b); ok && len(b) >= headerSize+recordSize {
		first := f.record(b[headerSize:])
		if len(b) >= headerSize+recordSize+min(first.length, maxPacket) {
			h.First = first.time
		}
	}
	sum := sha256.Sum256(b)
	h.Digest = hex.EncodeToString(sum[:8])
	return h, nil
}

// head returns the header and the first packet, as far as size goes: all of the
// packet or, when that is not whole, none of it.
func head(r io.ReaderAt, size int64) ([]byte, error) {
	b := make([]byte, min(size, headerSize+recordSize))
	if err := readAt(r, b, 0); err != nil {
		return nil, err
	}
	f, ok := parseFormat(b)
	if !ok {
		return b, nil
	}
	if len(b) < headerSize+recordSize {
		return b[:headerSize], nil
	}
	length := min(f.record(b[headerSize:]).length, maxPacket)
	if size < int64(headerSize+recordSize+length) {
		return b[:headerSize], nil
	}
	b = append(b, make([]byte, length)...)
	return b, readAt(r, b[headerSize+recordSize:], headerSize+recordSize)
}

// readAt fills b; a file that is shorter is io.ErrUnexpectedEOF.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// A format is what a file's header says of its records.
type format struct {
	order   binary.ByteOrder
	nano    bool // fractions of a second are nanoseconds
	snaplen uint32
}

// parseFormat is false for what is not, or not yet, the header of a classic pcap.
func parseFormat(b []byte) (format, bool) {
	if len(b) < headerSize {
		return format{}, false
	}
	order, nano, ok := parseMagic([4]byte(b))
	if !ok {
		return format{}, false
	}
	return format{order, nano, order.Uint32(b[16:])}, true
}

func parseMagic(b [4]byte) (order binary.ByteOrder, nano, ok bool) {
	switch magic := binary.BigEndian.Uint32(b[:]); magic {
	case 0xa1b2c3d4, 0xa1b23c4d:
		return binary.BigEndian, magic == 0xa1b23c4d, true
	case 0xd4c3b2a1, 0x4d3cb2a1:
		return binary.LittleEndian, magic == 0x4d3cb2a1, true
	}
	return nil, false, false
}

// beginsFormat says that a header may be about to be written: there is none of it
// or only its beginning.
func beginsFormat(b []byte) bool {
	if len(b) < 4 || len(b) >= headerSize {
		return len(b) == 0
	}
	_, _, ok := parseMagic([4]byte(b))
	return ok
}

type record struct {
	time   time.Time
	length int // of the packet, as captured
}

func (f format) record(b []byte) record {
	fraction := time.Duration(f.order.Uint32(b[4:]))
	if !f.nano {
		fraction *= time.Microsecond
	}
	return record{
		time:   time.Unix(int64(f.order.Uint32(b)), int64(fraction)).UTC(),
		length: int(f.order.Uint32(b[8:])),
	}
}

// wholePackets returns where the last whole packet of a capture ends: its size,
// unless it was being written. A file that is no classic pcap, or in which a
// packet is longer than packets are, which no writer leaves, is whole as it is.
func wholePackets(r io.ReaderAt, size int64) (end int64, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 256<<10)
	var b [headerSize]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return size, unlessShort(err)
	}
	f, ok := parseFormat(b[:])
	if !ok {
		return size, nil
	}
	for end = headerSize; ; {
		if _, err := io.ReadFull(in, b[:recordSize]); err != nil {
			return end, unlessShort(err)
		}
		length := f.record(b[:]).length
		if length > max(int(f.snaplen), maxPacket) {
			return size, nil
		}
		if _, err := in.Discard(length); err != nil {
			return end, unlessShort(err)
		}
		end += recordSize + int64(length)
	}
}

// unlessShort passes over the error of a file that ends.
func unlessShort(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
