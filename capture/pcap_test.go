package capture

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// began is when the captures of the tests begin.
var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// pcapHeader is what tcpdump writes first.
func pcapHeader(order binary.AppendByteOrder, magic uint32) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = order.AppendUint32(b, 0)
	b = order.AppendUint32(b, 0)
	b = order.AppendUint32(b, maxPacket)
	return order.AppendUint32(b, 1) // EN10MB
}

// pcapRecord appends a packet, captured so many microseconds after began.
func pcapRecord(b []byte, order binary.AppendByteOrder, after int, packet []byte) []byte {
	b = order.AppendUint32(b, uint32(began.Unix())+uint32(after/1e6))
	b = order.AppendUint32(b, uint32(after%1e6))
	b = order.AppendUint32(b, uint32(len(packet)))
	b = order.AppendUint32(b, uint32(len(packet)))
	return append(b, packet...)
}

// pcapFile is a capture of these packets, and where it has whole packets: at its
// header's end and at each packet's.
func pcapFile(packets ...string) (file []byte, ends []int64) {
	file = pcapHeader(binary.LittleEndian, 0xa1b2c3d4)
	ends = []int64{headerSize}
	for i, p := range packets {
		file = pcapRecord(file, binary.LittleEndian, i, []byte(p))
		ends = append(ends, int64(len(file)))
	}
	return file, ends
}

func write(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}
