package wmi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/go-ole/go-ole"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// The class and interface of WMI's locator (https://learn.microsoft.com/en-us/windows/win32/api/wbemcli/).
var (
	wbemLocatorClass = ole.NewGUID("{4590F811-1D3A-11D0-891F-00AA004B2E24}")
	wbemLocator      = ole.NewGUID("{DC12A687-737F-11CF-884D-00AA004B2E24}")
)

// Places of methods in the tables of wbemcli.h's interfaces.
const (
	connectServer    = 3  // IWbemLocator
	getObject        = 6  // IWbemServices
	execQuery        = 20 // the same
	enumNext         = 4  // IEnumWbemClassObject
	objectGet        = 4  // IWbemClassObject
	beginEnumeration = 8  // the same
	nextProperty     = 9  // the same
)

// Constants of wbemcli.h.
const (
	forwardOnly       = 0x20
	returnImmediately = 0x10
	nonSystemOnly     = 0x40
	noMoreData        = 0x40005

	notFound         = 0x80041002
	invalidNamespace = 0x8004100E
	invalidClass     = 0x80041010
	invalidQuery     = 0x80041017
	unparsableQuery  = 0x80041058

	cimSint64   = 20
	cimUint64   = 21
	cimDateTime = 101
)

// wmiError is the error of a result of WMI, nil if it is none.
func wmiError(result uintptr, doing string) error {
	code := uint32(result) // a HRESULT has 32 bits
	switch code {
	case invalidClass, notFound:
		return ErrClass
	case invalidNamespace:
		return ErrNamespace
	case invalidQuery, unparsableQuery:
		return ErrQuery
	}
	if int32(code) < 0 { // the same
		return fmt.Errorf("%s: %w", doing, ole.NewError(result))
	}
	return nil
}

// invoke calls a method of a COM object by its place in the table of methods.
func invoke(of *ole.IUnknown, method uintptr, args ...uintptr) uintptr {
	table := unsafe.Slice((*uintptr)(unsafe.Pointer(of.RawVTable)), method+1)
	result, _, _ := syscall.SyscallN(table[method], append([]uintptr{uintptr(unsafe.Pointer(of))}, args...)...)
	return result
}

// Query returns the objects that a query in WQL finds in a namespace, corrected.
func Query(ctx context.Context, namespace, query string) ([]Object, error) {
	type answer struct {
		found []Object
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		found, err := Ask(namespace, query)
		done <- answer{found, err}
	}()

	select {
	case a := <-done:
		return a.found, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for WMI: %w", ctx.Err())
	}
}

// Ask is Query for programs that wait as long as WMI takes.
func Ask(namespace, query string) (found []Object, err error) {
	runtime.LockOSThread() // COM belongs to a thread
	defer runtime.UnlockOSThread()
	const falseResult = 1 // S_FALSE: COM is there already
	if err := ole.CoInitializeEx(0, ole.COINIT_MULTITHREADED); err != nil {
		if failed, ok := errors.AsType[*ole.OleError](err); !ok || failed.Code() != falseResult {
			return nil, fmt.Errorf("start COM: %w", err)
		}
	}
	defer ole.CoUninitialize()

	locator, err := ole.CreateInstance(wbemLocatorClass, wbemLocator)
	if err != nil {
		return nil, fmt.Errorf("open WMI: %w", err)
	}
	defer locator.Release()
	var services, objects *ole.IUnknown
	question := Whole(query)
	where, what, language := ole.SysAllocString(namespace), ole.SysAllocString(question.Ask), ole.SysAllocString("WQL")
	for _, s := range []*int16{where, what, language} {
		defer func() { err = errors.Join(err, ole.SysFreeString(s)) }()
	}

	result := invoke(locator, connectServer, uintptr(unsafe.Pointer(where)), 0, 0, 0, 0, 0, 0,
		uintptr(unsafe.Pointer(&services)))
	if err := wmiError(result, "connect to "+namespace); err != nil {
		return nil, err
	}
	defer services.Release()
	result = invoke(services, execQuery, uintptr(unsafe.Pointer(language)), uintptr(unsafe.Pointer(what)),
		forwardOnly|returnImmediately, 0, uintptr(unsafe.Pointer(&objects)))
	if err := wmiError(result, "query WMI"); err != nil {
		return nil, err
	}

	defer objects.Release()

	machine, facts := thisMachine(), theseFacts()
	rejected := false // an object, by a condition: there is such a class
	for {
		var one *ole.IUnknown
		var count uint32
		const infinite = 0xffffffff
		result := invoke(objects, enumNext, infinite, 1, uintptr(unsafe.Pointer(&one)), uintptr(unsafe.Pointer(&count)))
		if err := wmiError(result, "read from WMI"); err != nil {
			return nil, err
		}

		if count == 0 && found == nil && !rejected { // Wine finds nothing of a class that is not there
			return nil, knownClass(services, query)
		}
		if count == 0 {
			return found, nil
		}

		o, err := readWMI(one)
		one.Release()
		if err != nil {
			return nil, err
		}
		Correct(o, machine)
		if question.Adds {
			whole := facts.Complete(o)
			if !question.Meets(whole) {
				rejected = true
				continue
			}
			o = whole.Only(question.Wanted)
		}
		found = append(found, o)
	}
}

// fromClass matches the class in a query.
var fromClass = lazyregexp.New(`(?i)\bFROM\s+([A-Z_0-9]+)`)

// knownClass is an error if there is no class of the name that a query has.
func knownClass(services *ole.IUnknown, query string) (err error) {
	m := fromClass.FindStringSubmatch(query)
	if m == nil {
		return ErrQuery
	}
	name := ole.SysAllocString(m[1])
	defer func() { err = errors.Join(err, ole.SysFreeString(name)) }()
	var class *ole.IUnknown
	result := invoke(services, getObject, uintptr(unsafe.Pointer(name)), 0, 0, uintptr(unsafe.Pointer(&class)), 0)
	if err := wmiError(result, "look for the class "+m[1]); err != nil {
		return err
	}
	class.Release()
	return nil
}

// readWMI reads the properties of an object.
func readWMI(from *ole.IUnknown) (Object, error) {
	o := Object{}
	name, err := syscall.UTF16PtrFromString("__CLASS")
	if err != nil {
		return o, err
	}

	var class ole.VARIANT
	result := invoke(from, objectGet, uintptr(unsafe.Pointer(name)), 0, uintptr(unsafe.Pointer(&class)), 0, 0)
	if err := wmiError(result, "read the class of an object"); err != nil {
		return o, err
	}
	o.Class = class.ToString()
	if err := class.Clear(); err != nil {
		return o, err
	}

	if err := wmiError(invoke(from, beginEnumeration, nonSystemOnly), "read properties"); err != nil {
		return o, err
	}

	for {
		var name *uint16
		var v ole.VARIANT
		var kind int32
		result := invoke(from, nextProperty, 0, uintptr(unsafe.Pointer(&name)), uintptr(unsafe.Pointer(&v)),
			uintptr(unsafe.Pointer(&kind)), 0)
		if err := wmiError(result, "read a property"); err != nil || result == noMoreData {
			return o, err
		}

		o.Names = append(o.Names, ole.BstrToString(name))
		o.Props = append(o.Props, wmiProperty(&v, kind))
		err := errors.Join(v.Clear(), ole.SysFreeString((*int16)(unsafe.Pointer(name))))
		if err != nil {
			return o, err
		}
	}
}

// wmiProperty returns a value of one of CIM's types. Whole numbers of 64 bits and times come as texts.
func wmiProperty(v *ole.VARIANT, kind int32) any {
	if v.VT&ole.VT_ARRAY != 0 {
		var list []any
		for _, item := range v.ToArray().ToValueArray() {
			list = append(list, wmiScalar(item, kind))
		}
		return list
	}
	return wmiScalar(v.Value(), kind)
}

func wmiScalar(v any, kind int32) any {
	switch v := v.(type) {
	case nil, bool, float64, int64:
		return v
	case float32:
		return float64(v)
	case string:
		return wmiText(v, kind)
	case int8, int16, int32, int, uint8, uint16, uint32, uint64:
		n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
		if err == nil {
			return n
		}
	}

	return fmt.Sprint(v)
}

func wmiText(s string, kind int32) any {
	switch kind &^ 0x2000 { // CIM_FLAG_ARRAY
	case cimSint64, cimUint64:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
	case cimDateTime:
		if t, ok := ParseTime(s); ok {
			return t
		}
	}
	return s
}
