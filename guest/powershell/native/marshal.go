package native

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// MarshalClass returns the class System.Runtime.InteropServices.Marshal
// (https://learn.microsoft.com/dotnet/api/system.runtime.interopservices.marshal).
func MarshalClass() *object.Class {
	class := &object.Class{Name: "System.Runtime.InteropServices.Marshal", Calls: []object.Method{
		{Name: "GetLastWin32Error", Do: func(c *object.Call) (object.Value, error) {
			return int64(Of(c.State).last), nil
		}},
		{Name: "GetHRForLastWin32Error", Do: func(c *object.Call) (object.Value, error) {
			last := Of(c.State).last
			if last == 0 {
				return int64(0), nil
			}
			return int64(int32(last&0xFFFF | 0x80070000)), nil
		}},
		{Name: "SizeOf", Least: 1, Most: 1, Do: sizeOf},
		{Name: "AllocHGlobal", Least: 1, Most: 1, Do: allocate},
		{Name: "AllocCoTaskMem", Least: 1, Most: 1, Do: allocate},
		{Name: "PtrToStructure", Least: 2, Most: 2, Do: toStructure},
		{Name: "StructureToPtr", Least: 3, Most: 3, Do: fromStructure},
		{Name: "Copy", Least: 4, Most: 4, Do: copyBytes},
	}}

	for _, name := range []string{
		"FreeHGlobal", "FreeCoTaskMem", "FreeBSTR", "ZeroFreeBSTR", "ZeroFreeGlobalAllocUnicode", "ZeroFreeCoTaskMemUnicode",
	} {
		class.Calls = append(class.Calls, object.Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do:    free,
		})
	}

	for name, wide := range map[string]bool{
		"PtrToStringUni": true, "PtrToStringAuto": true, "PtrToStringBSTR": true, "PtrToStringAnsi": false,
	} {
		class.Calls = append(class.Calls, object.Method{
			Name:  name,
			Least: 1,
			Most:  2,
			Do:    func(c *object.Call) (object.Value, error) { return toText(c, wide) },
		})
	}

	for name, wide := range map[string]bool{
		"StringToHGlobalUni": true, "StringToHGlobalAuto": true, "StringToBSTR": true, "StringToCoTaskMemUni": true,
		"SecureStringToBSTR": true, "SecureStringToGlobalAllocUnicode": true, "SecureStringToCoTaskMemUnicode": true,
		"StringToHGlobalAnsi": false, "SecureStringToGlobalAllocAnsi": false,
	} {
		class.Calls = append(class.Calls, object.Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do:    func(c *object.Call) (object.Value, error) { return fromText(c, wide) },
		})
	}

	for name, p := range map[string]primitive{
		"Byte": {1, false}, "Int16": {2, true}, "Int32": {4, true}, "Int64": {8, true}, "IntPtr": {8, true},
	} {
		s := numberShape(p)
		read := object.Method{
			Name:  "Read" + name,
			Least: 1,
			Most:  2,
			Do:    s.readAt,
		}
		write := object.Method{
			Name:  "Write" + name,
			Least: 2,
			Most:  3,
			Do:    s.writeAt,
		}
		class.Calls = append(class.Calls, read, write)
	}

	slices.SortFunc(class.Calls, func(a, b object.Method) int { return strings.Compare(a.Name, b.Name) })
	return class
}

// typeOf returns the type that an argument is, or names.
func typeOf(c *object.Call, n int) *made {
	v := object.Plain(c.Arg(n))
	name := object.Text(v)
	if o, ok := v.(*object.Object); ok && o.Kind == object.TypeKind {
		name = object.Text(o.Props["fullname"])
	} else if ok && o.Class != nil {
		name = o.Class().Name
	}
	return Of(c.State).made[name]
}

func sizeOf(c *object.Call) (object.Value, error) {
	if m := typeOf(c, 0); m != nil && m.structure != nil {
		return int64(m.structure.size), nil
	}
	if o, ok := object.Plain(c.Arg(0)).(*object.Object); ok && o.Kind == object.TypeKind {
		name := object.Text(o.Props["name"])
		if p, known := primitives()[name]; known {
			return int64(p.size), nil
		}
	}
	return nil, object.Raise("System.ArgumentException", fmt.Sprintf("Type '%s' cannot be marshaled as an unmanaged structure; "+
		"no meaningful size or offset can be computed.", object.Text(c.Arg(0))))
}

// mostRooms bounds what a script allocates and does not free, in bytes.
const mostRooms = 256 << 20

// keep keeps a room until it is freed, and returns its address.
func (t *Types) keep(room []byte) (object.Value, error) {
	sum := len(room)
	for _, other := range t.rooms {
		sum += len(other)
	}
	if sum > mostRooms {
		return nil, object.Raise("System.OutOfMemoryException", "Insufficient memory to continue the execution of the program.")
	}

	if t.rooms == nil {
		t.rooms = map[uintptr][]byte{}
	}
	at := address(room)
	t.rooms[at] = room
	return int64(at), nil
}

func allocate(c *object.Call) (object.Value, error) {
	n, err := c.Whole(0)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > mostRooms {
		return nil, object.Raise("System.OutOfMemoryException", "Insufficient memory to continue the execution of the program.")
	}
	return Of(c.State).keep(make([]byte, max(n, 1)))
}

// free frees a room of this session, or what a function of a library has allocated.
func free(c *object.Call) (object.Value, error) {
	n, err := c.Whole(0)
	if err != nil || n == 0 {
		return nil, err
	}
	t := Of(c.State)
	at := uintptr(n)
	if room, ours := t.rooms[at]; ours {
		clear(room)
		delete(t.rooms, at)
		return nil, nil
	}
	return nil, give(at)
}

// placeOf returns the address and the offset that a call begins with.
func placeOf(c *object.Call, offset int) (uintptr, error) {
	at, err := c.Whole(0)
	if err != nil || offset >= len(c.Args) {
		return uintptr(at), err
	}
	by, err := c.Whole(offset)
	return uintptr(at + by), err
}

func (s shape) readAt(c *object.Call) (object.Value, error) {
	at, err := placeOf(c, 1)
	if err != nil {
		return nil, err
	}
	b, err := copyOf(at, s.size)
	if err != nil {
		return nil, err
	}
	return s.get(b)
}

// writeAt writes a number: of a pointer and a value, or with an offset between them.
func (s shape) writeAt(c *object.Call) (object.Value, error) {
	offset := len(c.Args)
	if offset == 3 {
		offset = 1
	}
	at, err := placeOf(c, offset)
	if err != nil {
		return nil, err
	}

	b := make([]byte, s.size)
	var kept [][]byte
	if err := s.put(b, c.Arg(len(c.Args)-1), &kept); err != nil {
		return nil, err
	}
	return nil, touch(at, func() { copy(roomAt(at, s.size), b) })
}

func toText(c *object.Call, wide bool) (object.Value, error) {
	at, err := c.Whole(0)
	if err != nil || at == 0 {
		return nil, err
	}
	if len(c.Args) == 1 {
		return textAt(uintptr(at), wide, mostText)
	}

	n, err := c.Whole(1)
	if err != nil || n < 0 || n > mostText {
		return nil, object.Raise("System.ArgumentException", "Invalid length.\nParameter name: len")
	}
	unit := 1
	if wide {
		unit = 2
	}
	b, err := copyOf(uintptr(at), unit*int(n))
	return decoded(b, wide), err
}

// fromText keeps a text in memory. That of a BSTR has its length before it, in bytes
// (https://learn.microsoft.com/previous-versions/windows/desktop/automat/bstr).
func fromText(c *object.Call, wide bool) (object.Value, error) {
	v := object.Plain(c.Arg(0))
	if v == nil {
		return int64(0), nil
	}
	s := object.Text(v)
	if secret, ok := v.(*object.Instance); ok {
		if own, is := secret.V.(string); is {
			s = own // a SecureString, whose text is the name of its class
		}
	}

	what := encoded(s, wide)
	room := binary.LittleEndian.AppendUint64(nil, uint64(len(what)-2)<<32)
	room = append(room, what...)
	t := Of(c.State)
	if _, err := t.keep(room); err != nil {
		return nil, err
	}
	delete(t.rooms, address(room))
	at := address(room[8:])
	t.rooms[at] = room
	return int64(at), nil
}

func toStructure(c *object.Call) (object.Value, error) {
	at, err := c.Whole(0)
	if err != nil {
		return nil, err
	}
	m := typeOf(c, 1)
	if m == nil || m.structure == nil {
		return nil, object.Raise("System.ArgumentException", "The specified structure must be blittable or have layout "+
			"information.\nParameter name: structure")
	}
	b, err := copyOf(uintptr(at), m.structure.size)
	if err != nil {
		return nil, err
	}
	return m.structure.get(b)
}

func fromStructure(c *object.Call) (object.Value, error) {
	m := typeOf(c, 0)
	at, err := c.Whole(1)
	if err != nil {
		return nil, err
	}
	if m == nil || m.structure == nil {
		return nil, object.Raise("System.ArgumentException", "The specified structure must be blittable or have layout "+
			"information.\nParameter name: structure")
	}

	b := make([]byte, m.structure.size)
	var kept [][]byte
	if err := m.structure.put(b, object.Plain(c.Arg(0)), &kept); err != nil {
		return nil, err
	}
	t := Of(c.State)
	for _, text := range kept { // its texts lie there until the session ends
		if _, err := t.keep(text); err != nil {
			return nil, err
		}
	}
	return nil, touch(uintptr(at), func() { copy(roomAt(uintptr(at), len(b)), b) })
}

// copyBytes copies from a list to memory, (list, from, pointer, count), or back, (pointer, list, from, count).
func copyBytes(c *object.Call) (object.Value, error) {
	items, out := object.Plain(c.Arg(0)).([]object.Value)
	from, to := 1, 2
	if !out {
		items, _ = object.Plain(c.Arg(1)).([]object.Value)
		from, to = 2, 0
	}
	first, err := c.Whole(from)
	if err != nil {
		return nil, err
	}
	at, err := c.Whole(to)
	if err != nil {
		return nil, err
	}
	n, err := c.Whole(3)
	if err != nil {
		return nil, err
	}
	if first < 0 || n < 0 || first > int64(len(items)) || n > int64(len(items))-first {
		return nil, object.Raise("System.ArgumentOutOfRangeException", "Requested range extends past the end of the array.")
	}

	part := items[first : first+n]
	if !out {
		b, err := copyOf(uintptr(at), int(n))
		for i := range b {
			part[i] = int64(b[i])
		}
		return nil, err
	}
	b, err := object.BytesOf(part)
	if err != nil {
		return nil, err
	}
	return nil, touch(uintptr(at), func() { copy(roomAt(uintptr(at), len(b)), b) })
}
