package capture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// noSnapshot wants that error of a copy.
func noSnapshot(t *testing.T, r Ring, name string, want error) {
	t.Helper()
	s, err := r.Snapshot(t.Context(), name)
	if err == nil {
		s.File.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("a copy of %q: %v, want %v", name, err, want)
	}
}

// snapshot takes a copy and reads it.
func snapshot(t *testing.T, r Ring, name string) (*Snapshot, []byte) {
	t.Helper()
	s, err := r.Snapshot(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.File.Close()
	b, err := io.ReadAll(s.File)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != s.Bytes {
		t.Errorf("the copy of %q has %d bytes and says %d", name, len(b), s.Bytes)
	}
	return s, b
}

func TestNoCopyOfWhatListCouldNotGive(t *testing.T) {
	r := Ring{Dir: t.TempDir()}
	for _, name := range []string{"", "../x", "../x.pcap0", ".pcap0", "a/b.pcap0", "/etc/passwd", "x", "x.pcap0\x00"} {
		noSnapshot(t, r, name, ErrBadName)
	}
	noSnapshot(t, r, strings.Repeat("x", 300)+".pcap0", ErrNotFound)
}

func TestACopyEndsWithAWholePacket(t *testing.T) {
	file, ends := pcapFile("one", "", "a third packet")
	dir := t.TempDir()
	whole := int64(0)
	for n := range len(file) + 1 {
		if int64(n) == ends[0] {
			whole, ends = ends[0], ends[1:]
			if len(ends) == 0 {
				ends = []int64{-1}
			}
		}
		if n < headerSize {
			continue // there is no packet yet
		}
		write(t, dir, "site.pcap0", file[:n])
		if _, got := snapshot(t, Ring{Dir: dir}, "site.pcap0"); !bytes.Equal(got, file[:whole]) {
			t.Errorf("of the first %d bytes the copy has %d, want %d", n, len(got), whole)
		}
	}
}

func TestWhatIsNoPcapIsCopiedAsItIs(t *testing.T) {
	file, _ := pcapFile("one", "two")
	damaged := bytes.Clone(file)
	binary.LittleEndian.PutUint32(damaged[headerSize+8:], 1<<30)
	dir := t.TempDir()
	for _, b := range [][]byte{nil, []byte("abc"), []byte(strings.Repeat("text\n", 1000)), file[:headerSize-1], damaged} {
		write(t, dir, "site.pcap0", b)
		if err := os.Chtimes(filepath.Join(dir, "site.pcap0"), began, began); err != nil {
			t.Fatal(err)
		}
		if _, got := snapshot(t, Ring{Dir: dir}, "site.pcap0"); !bytes.Equal(got, b) {
			t.Errorf("of %.40q the copy has %.40q", b, got)
		}
	}
}

// tcpdump makes a file, then writes its header.
func TestAFileThatHasJustBeenBegunIsUnavailable(t *testing.T) {
	dir := t.TempDir()
	for _, b := range [][]byte{nil, pcapHeader(binary.LittleEndian, 0xa1b2c3d4)[:20]} {
		write(t, dir, "site.pcap0", b)
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "site.pcap0"), later, later); err != nil {
			t.Fatal(err)
		}
		noSnapshot(t, Ring{Dir: dir}, "site.pcap0", ErrUnavailable)
	}
}

func TestEveryKindOfPcapIsCutToItsLastWholePacket(t *testing.T) {
	dir := t.TempDir()
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for magic, at := range map[uint32]time.Time{0xa1b2c3d4: began.Add(7 * time.Microsecond), 0xa1b23c4d: began.Add(7)} {
			file := pcapRecord(pcapHeader(order, magic), order, 7, []byte("one"))
			write(t, dir, "site.pcap", append(bytes.Clone(file), "torn"...))
			_, got := snapshot(t, Ring{Dir: dir}, "site.pcap")
			if !bytes.Equal(got, file) {
				t.Errorf("%v %x: the copy has %d bytes, want %d", order, magic, len(got), len(file))
			}
			if h, err := ReadHead(bytes.NewReader(got), int64(len(got))); err != nil || !h.First.Equal(at) {
				t.Errorf("%v %x: the first packet is of %v, %v; want %v", order, magic, h.First, err, at)
			}
		}
	}
}

// What a client has of a file is the beginning of the next copy for as long as
// the tag is the same.
func TestTheTagHoldsWhileTheFileGrowsAndNoLonger(t *testing.T) {
	dir := t.TempDir()
	r := Ring{Dir: dir}
	file, ends := pcapFile("one", "two", "three")
	tag := func(b []byte) string {
		t.Helper()
		write(t, dir, "site.pcap0", b)
		s, _ := snapshot(t, r, "site.pcap0")
		return s.ETag
	}
	first := tag(file[:ends[1]])
	for n := ends[1]; n <= ends[3]; n++ {
		if got := tag(file[:n]); got != first {
			t.Fatalf("with %d bytes the tag is %s, with %d %s", n, got, ends[1], first)
		}
	}
	if tag(file[:headerSize]) == first {
		t.Error("a file without a packet has the tag of one with a packet")
	}
	other, _ := pcapFile("two", "two", "three")
	if tag(other) == first {
		t.Error("another round of the ring has the same tag")
	}
	if err := os.Remove(filepath.Join(dir, "site.pcap0")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "site.pcap1", file) // another inode, most likely
	write(t, dir, "site.pcap2", file)
	one, _ := snapshot(t, r, "site.pcap1")
	two, _ := snapshot(t, r, "site.pcap2")
	if one.ETag == two.ETag {
		t.Error("two files have one tag")
	}
	if !strings.HasPrefix(first, `"`) || !strings.HasSuffix(first, `"`) || strings.Trim(first, `"`) == "" {
		t.Errorf("%s is no entity tag", first)
	}
}

// A copy was taken, and the file is now something else.
func TestACopyThatTheRingTurnedUnderIsNoticed(t *testing.T) {
	before, ends := pcapFile("one", "two", "three")
	after, _ := pcapFile("uno", "due", "tre e quattro e cinque")
	shrunk := before[:ends[2]-1]
	for name, c := range map[string]struct {
		copied, now []byte
		turned      bool
	}{
		"nothing happened":             {before, before, false},
		"it grew":                      {before, append(bytes.Clone(before), after[headerSize:]...), false},
		"another round":                {before, after, true},
		"another round, of one packet": {before, after[:ends[1]], true},
		"a header alone":               {before, after[:headerSize], true},
		"nothing":                      {before, nil, true},
		"shorter":                      {before, shrunk, true},
		"only the header was copied":   {before[:headerSize], after, false},
		"a mix":                        {append(bytes.Clone(before[:ends[2]]), after[ends[2]:]...), after, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "copy", c.copied)
			write(t, dir, "now", c.now)
			to, err := os.OpenFile(filepath.Join(dir, "copy"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			now, err := os.Open(filepath.Join(dir, "now"))
			if err != nil {
				t.Fatal(err)
			}
			defer now.Close()
			s := Snapshot{File: to}
			if err := s.finish(now, 1); (err != nil) != c.turned || c.turned && !errors.Is(err, errTurned) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

func TestACopyThatNobodyWaitsForIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "site.pcap0", nil)
	if err := os.Truncate(filepath.Join(dir, "site.pcap0"), 1<<40); err != nil {
		t.Skipf("the file system has no sparse files: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := (Ring{Dir: dir}).Snapshot(ctx, "site.pcap0"); !errors.Is(err, context.Canceled) {
		t.Errorf("the copy ended with %v", err)
		s.File.Close()
	}
}

func TestCopiesLeaveNothingBehind(t *testing.T) {
	r := Ring{Dir: t.TempDir(), Temp: t.TempDir()}
	file, _ := pcapFile("one")
	write(t, r.Dir, "site.pcap0", file)
	s, err := r.Snapshot(t.Context(), "site.pcap0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.File.Close()
	for dir, want := range map[string]int{r.Dir: 1, r.Temp: 0} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%q has %v, %v", dir, entries, err)
		}
	}
}

func TestAFolderForCopiesThatIsNotThereIsAnError(t *testing.T) {
	r := Ring{Dir: t.TempDir(), Temp: filepath.Join(t.TempDir(), "absent")}
	write(t, r.Dir, "site.pcap0", []byte("abc"))
	s, err := r.Snapshot(t.Context(), "site.pcap0")
	if err == nil {
		if s.File.Close(); !sharesBlocks(t, r.Dir) {
			t.Error("a copy was taken")
		}
	} else if errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnavailable) {
		t.Errorf("it says %v", err)
	}
}

func sharesBlocks(t *testing.T, dir string) bool {
	t.Helper()
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	to, ok := reflink(f, dir)
	if ok {
		to.Close()
	}
	return ok
}

// A file grows, shrinks, vanishes and comes again under whoever copies it.
func TestCopiesOfAFileThatComesAndGoes(t *testing.T) {
	r := Ring{Dir: t.TempDir()}
	path := filepath.Join(r.Dir, "site.pcap0")
	file, _ := pcapFile(strings.Repeat("one", 5000), strings.Repeat("two", 50_000), "three")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			switch i % 4 {
			case 0:
				os.WriteFile(path, file[:len(file)*(i%7)/7], 0o600)
			case 1:
				os.Truncate(path, int64(len(file)*(i%5)/5))
			case 2:
				os.Remove(path)
			case 3:
				os.WriteFile(path+".new", file, 0o600)
				os.Rename(path+".new", path)
			}
		}
	}()
	taken, tries := 0, 0
	for taken < 50 && tries < 100_000 {
		s, err := r.Snapshot(t.Context(), "site.pcap0")
		switch tries++; {
		case err == nil:
			taken++
			b, err := io.ReadAll(s.File)
			s.File.Close()
			if err != nil || int64(len(b)) != s.Bytes {
				t.Errorf("%d bytes of %d, %v", len(b), s.Bytes, err)
			}
		case !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnavailable):
			t.Error(err)
		}
	}
	close(stop)
	<-stopped
	if taken == 0 {
		t.Errorf("no copy in %d tries", tries)
	}
}

// A writer overwrites one file again and again, as tcpdump does with a ring of
// one file, in writes that end anywhere. Each packet names its round.
func TestCopiesDuringRotationAreOfOneRoundAndWhole(t *testing.T) {
	const copies = 100
	r := Ring{Dir: t.TempDir()}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() { stopped <- rotate(filepath.Join(r.Dir, "site.pcap0"), stop) }()
	rounds, unavailable := map[string]bool{}, 0
	for taken := 0; taken < copies && len(stopped) == 0; {
		s, err := r.Snapshot(t.Context(), "site.pcap0")
		if errors.Is(err, ErrNotFound) {
			continue // the writer has not begun
		}
		if errors.Is(err, ErrUnavailable) {
			if unavailable++; unavailable > 10*copies {
				t.Fatalf("%v, %d times", err, unavailable)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(s.File)
		s.File.Close()
		if err != nil {
			t.Fatal(err)
		}
		round, err := oneRound(b)
		if err != nil {
			t.Fatal(err)
		}
		rounds[round] = true
		taken++
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if len(rounds) < 2 {
		t.Errorf("%d copies are all of one round", copies)
	}
}

func rotate(path string, stop <-chan struct{}) error {
	for round := 0; ; round++ {
		b := pcapHeader(binary.LittleEndian, 0xa1b2c3d4)
		for i := range 5000 {
			b = pcapRecord(b, binary.LittleEndian, round*5000+i, fmt.Appendf(nil, "%d %*d", round, i%200, i))
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		for len(b) > 0 && err == nil {
			select {
			case <-stop:
				return f.Close()
			default:
			}
			n := min(len(b), 4096)
			_, err = f.Write(b[:n])
			b = b[n:]
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// oneRound wants whole packets that all name one round.
func oneRound(b []byte) (round string, err error) {
	if len(b) < headerSize {
		return "", fmt.Errorf("a copy of %d bytes", len(b))
	}
	for at := headerSize; at < len(b); {
		if len(b)-at < recordSize {
			return "", fmt.Errorf("%d bytes behind the last packet", len(b)-at)
		}
		length := int(binary.LittleEndian.Uint32(b[at+8:]))
		at += recordSize
		if len(b)-at < length {
			return "", fmt.Errorf("the last packet has %d of %d bytes", len(b)-at, length)
		}
		of, _, _ := strings.Cut(string(b[at:at+length]), " ")
		if round == "" {
			round = of
		}
		if of != round {
			return "", fmt.Errorf("packets of the rounds %s and %s", round, of)
		}
		at += length
	}
	return round, nil
}

func FuzzWholePackets(f *testing.F) {
	file, _ := pcapFile("one", "two")
	f.Add(file)
	f.Add(file[:len(file)-1])
	f.Add(pcapRecord(pcapHeader(binary.BigEndian, 0xa1b23c4d), binary.BigEndian, 0, []byte("one")))
	f.Fuzz(func(t *testing.T, b []byte) {
		size := int64(len(b))
		end, err := wholePackets(bytes.NewReader(b), size)
		if err != nil || end < 0 || end > size {
			t.Fatalf("of %d bytes %d are whole, %v", size, end, err)
		}
		if again, err := wholePackets(bytes.NewReader(b[:end]), end); err != nil || again != end {
			t.Errorf("of %d whole bytes %d are, %v", end, again, err)
		}
		whole, err := ReadHead(bytes.NewReader(b), size)
		if err != nil {
			t.Fatal(err)
		}
		cut, err := ReadHead(bytes.NewReader(b[:end]), end)
		if err != nil || cut != whole {
			t.Errorf("the head is %+v, and %+v of the whole packets, %v", whole, cut, err)
		}
	})
}
