package fleet_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/fleet"
)

// proc returns the path of what the kernel says about a process; systems other than
// Linux have none.
func proc(t *testing.T, pid int, name string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the sockets of processes")
	}
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// testSockets checks the sockets of all processes of the fleet.
func testSockets(f *fleet.Fleet) func(*testing.T) {
	return func(t *testing.T) {
		for _, id := range processes(t, f.Dir()) {
			checkSockets(t, id.PID)
		}
	}
}

// checkCommandLine fails the test if an argument of the process names a host that is
// not a loopback address, or if an API server may look up the host names of nodes.
func checkCommandLine(t *testing.T, pid int) {
	t.Helper()
	raw, err := os.ReadFile(proc(t, pid, "cmdline"))
	if err != nil {
		t.Fatal(err)
	}
	program, arguments, _ := strings.Cut(string(raw), "\x00")
	const internalOnly = "--kubelet-preferred-address-types=InternalIP"
	if filepath.Base(program) == string(fleet.APIServer) && !strings.Contains(arguments, internalOnly+"\x00") {
		t.Errorf("%s runs without %s", filepath.Base(program), internalOnly)
	}
	for argument := range strings.SplitSeq(arguments, "\x00") {
		for _, host := range flagHosts(argument) {
			if !isLoopback(host) {
				t.Errorf("%s %s: %q is not a loopback address", filepath.Base(program), argument, host)
			}
		}
	}
}

// checkSockets fails the test if the process has a socket that is not bound to a
// loopback address: one that listens for other machines, or dials one. A UDP socket is
// that of a name lookup.
func checkSockets(t *testing.T, pid int) {
	t.Helper()
	own := socketsOf(t, pid)
	seen := 0
	for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6"} {
		table, err := os.ReadFile(proc(t, pid, "net/"+protocol))
		if errors.Is(err, fs.ErrNotExist) {
			continue // A machine without IPv6.
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			// sl, local_address, rem_address, st, queues, tr:tm->when, retrnsmt, uid, timeout, inode.
			fields := strings.Fields(line)
			if len(fields) < 10 || !own["socket:["+fields[9]+"]"] {
				continue
			}
			seen++
			local, err := decodeAddress(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			if !local.Unmap().IsLoopback() || strings.HasPrefix(protocol, "udp") {
				remote, _ := decodeAddress(fields[2])
				t.Errorf("process %d has a %s socket from %s to %s", pid, protocol, local, remote)
			}
		}
	}
	if seen == 0 {
		t.Errorf("process %d has no sockets: none were checked", pid)
	}
}

// socketsOf returns the sockets among the open files of the process.
func socketsOf(t *testing.T, pid int) map[string]bool {
	t.Helper()
	folder := proc(t, pid, "fd")
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	sockets := map[string]bool{}
	for _, file := range files {
		// A file that was closed meanwhile is no socket any more.
		target, _ := os.Readlink(filepath.Join(folder, file.Name()))
		if strings.HasPrefix(target, "socket:") {
			sockets[target] = true
		}
	}
	return sockets
}

// decodeAddress reads the address of a socket: words in the order of bytes of the
// machine, in hexadecimal, and a port.
func decodeAddress(text string) (netip.Addr, error) {
	words, _, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(words)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("decoding address %q: %w", text, err)
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	address, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.Addr{}, fmt.Errorf("decoding address %q: %d bytes are no address", text, len(raw))
	}
	return address, nil
}

func TestDecodeAddress(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the examples are of a little-endian machine")
	}
	for text, want := range map[string]string{
		"0100007F:1F90":                         "127.0.0.1",
		"00000000:0050":                         "0.0.0.0",
		"0101000A:0050":                         "10.0.1.1",
		"0000000000000000FFFF00000100007F:0050": "::ffff:127.0.0.1",
		"00000000000000000000000001000000:0050": "::1",
	} {
		if got, err := decodeAddress(text); err != nil || got.String() != want {
			t.Errorf("%s: got %v, error %v, want %s", text, got, err, want)
		}
	}
	if got, err := decodeAddress("00:1"); err == nil {
		t.Errorf("got %v for an address that is too short", got)
	}
}
