package dotnet

import (
	"crypto/md5"  //nolint:gosec // scripts compare what others have made with it
	"crypto/sha1" //nolint:gosec // the same
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash"
	"io"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/stream"
)

// smallClasses returns the types of which scripts use a member or two.
func smallClasses() []*object.Class {
	return []*object.Class{
		bitsClass(), collectorClass(), threadClass(), pointerClass("IntPtr"), pointerClass("UIntPtr"),
		webUtilityClass("System.Web.HttpUtility", "UrlEncode", "UrlDecode", "HtmlEncode", "HtmlDecode"),
		webUtilityClass("System.Net.WebUtility", "UrlEncode", "UrlDecode", "HtmlEncode", "HtmlDecode"),
		hashClass("SHA256", sha256.New, "sha256managed", "sha256cryptoserviceprovider", "sha256cng"),
		hashClass("SHA1", sha1.New, "sha1managed", "sha1cryptoserviceprovider"),
		hashClass("SHA384", sha512.New384, "sha384managed"), hashClass("SHA512", sha512.New, "sha512managed"),
		hashClass("MD5", md5.New, "md5cryptoserviceprovider"), algorithmClass(),
		cultureClass(), textInfoClass(), assemblyClass(), randomBytesClass(),
	}
}

func static(name string, least, most int, do func(c *object.Call) (object.Value, error)) object.Method {
	return object.Method{
		Name:  name,
		Least: least,
		Most:  most,
		Do:    do,
	}
}

// bitsClass returns the class System.BitConverter, of a machine with the low byte first.
func bitsClass() *object.Class {
	at := func(c *object.Call, size int) ([]byte, error) {
		data, err := object.BytesOf(c.Arg(0))
		if err != nil {
			return nil, err
		}
		from, err := c.Whole(1)
		if err != nil || from < 0 || from+int64(size) > int64(len(data)) {
			return nil, object.Raise("System.ArgumentOutOfRangeException", "Index was out of range. Must be non-negative and less "+
				"than the size of the collection.\nParameter name: startIndex")
		}

		return data[from : from+int64(size)], nil
	}

	to := func(name string, size int, do func(b []byte) int64) object.Method {
		return static(name, 2, 2, func(c *object.Call) (object.Value, error) {
			b, err := at(c, size)
			if err != nil {
				return nil, err
			}
			return do(b), nil
		})
	}

	return &object.Class{
		Name:   "System.BitConverter",
		Others: []string{"bitconverter"},
		Fields: []object.Field{valueField("IsLittleEndian", true)},
		Calls: []object.Method{
			static("ToString", 1, 3, func(c *object.Call) (object.Value, error) {
				data, err := object.BytesOf(c.Arg(0))
				parts := make([]string, len(data))
				for i, b := range data {
					parts[i] = strings.ToUpper(string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15]))
				}
				return strings.Join(parts, "-"), err
			}),
			static("GetBytes", 1, 1, func(c *object.Call) (object.Value, error) {
				n, err := c.Whole(0)
				if int64(int32(n)) == n {
					return object.ByteList(binary.LittleEndian.AppendUint32(nil, uint32(n))), err
				}
				return object.ByteList(binary.LittleEndian.AppendUint64(nil, uint64(n))), err
			}),
			to("ToInt16", 2, func(b []byte) int64 { return int64(int16(binary.LittleEndian.Uint16(b))) }),
			to("ToUInt16", 2, func(b []byte) int64 { return int64(binary.LittleEndian.Uint16(b)) }),
			to("ToInt32", 4, func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) }),
			to("ToUInt32", 4, func(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }),
			to("ToInt64", 8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }),
		},
	}
}

// collectorClass returns the class System.GC.
func collectorClass() *object.Class {
	return &object.Class{Name: "System.GC", Others: []string{"gc"}, Calls: []object.Method{
		static("Collect", 0, 4, func(*object.Call) (object.Value, error) { runtime.GC(); return nil, nil }),
		static("WaitForPendingFinalizers", 0, 0, func(*object.Call) (object.Value, error) { return nil, nil }),
		static("GetTotalMemory", 1, 1, func(*object.Call) (object.Value, error) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc), nil
		}),
	}}
}

// threadClass returns the class System.Threading.Thread.
func threadClass() *object.Class {
	return &object.Class{
		Name: "System.Threading.Thread",
		Fields: []object.Field{{Name: "CurrentThread", Get: func(*session.State, object.Value) (object.Value, error) {
			o := object.New("thread").Set("ManagedThreadId", int64(1)).Set("Name", "Pipeline Execution Thread")
			o.Props["currentculture"], o.Props["currentuiculture"] = Culture("en-US"), Culture("en-US")
			return o, nil
		}}},
		Calls: []object.Method{static("Sleep", 1, 1, func(c *object.Call) (object.Value, error) {
			wait := object.Own[time.Duration](c.Arg(0))
			if wait == 0 {
				n, err := c.Whole(0)
				if err != nil {
					return nil, err
				}
				wait = time.Duration(n) * time.Millisecond
			}

			select {
			case <-time.After(wait):
				return nil, nil
			case <-c.State.Context.Done():
				return nil, c.State.Context.Err()
			}
		})},
	}
}

// pointerClass returns the class System.IntPtr, or System.UIntPtr, whose objects are numbers here
// (https://learn.microsoft.com/dotnet/api/system.intptr).
func pointerClass(name string) *object.Class {
	moved := func(by int64) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) {
			at, err := c.Whole(0)
			if err != nil {
				return nil, err
			}
			n, err := c.Whole(1)
			return at + by*n, err
		}
	}
	number := object.Method{
		Least: 1,
		Most:  1,
		Do:    func(c *object.Call) (object.Value, error) { return c.Whole(0) },
	}
	return &object.Class{
		Name:   "System." + name,
		Others: []string{strings.ToLower(name)},
		Make:   &number,
		Fields: []object.Field{valueField("Size", int64(8)), valueField("Zero", int64(0))},
		Calls: []object.Method{
			{Name: "Add", Least: 2, Most: 2, Do: moved(1)}, {Name: "Subtract", Least: 2, Most: 2, Do: moved(-1)},
		},
		Methods: []object.Method{
			{Name: "ToInt64", Do: func(c *object.Call) (object.Value, error) { return c.On, nil }},
			{Name: "ToInt32", Do: func(c *object.Call) (object.Value, error) {
				n, err := object.Integer(c.On)
				if err == nil && n != int64(int32(n)) {
					err = object.Raise("System.OverflowException", "Arithmetic operation resulted in an overflow.")
				}
				return n, err
			}},
		},
	}
}

// webUtilityClass returns the class of the web's encodings.
func webUtilityClass(class string, names ...string) *object.Class {
	do := []func(s string) (string, error){
		func(s string) (string, error) { return url.QueryEscape(s), nil },
		url.QueryUnescape,
		func(s string) (string, error) {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s), nil
		},
		func(s string) (string, error) {
			return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&amp;", "&").Replace(s), nil
		},
	}

	c := &object.Class{Name: class}
	for i, name := range names {
		c.Calls = append(c.Calls, static(name, 1, 1, func(c *object.Call) (object.Value, error) {
			return do[i](c.Text(0))
		}))
	}

	return c
}

// hashClass returns a hash algorithm of System.Security.Cryptography.
func hashClass(name string, make func() hash.Hash, providers ...string) *object.Class {
	const space = "System.Security.Cryptography."
	c := &object.Class{Name: space + name}
	for _, p := range providers {
		c.Others = append(c.Others, "security.cryptography."+p)
	}

	made := func(*object.Call) (object.Value, error) {
		return &object.Instance{Of: hashClass(name, make, providers...), V: make}, nil
	}

	c.Make = &object.Method{Do: made}
	c.Calls = []object.Method{static("Create", 0, 1, made)}
	c.Methods = []object.Method{
		{Name: "ComputeHash", Least: 1, Most: 3, Do: func(c *object.Call) (object.Value, error) {
			h := make()
			if s := object.Own[*stream.Stream](c.Arg(0)); s != nil && s.R != nil {
				if _, err := io.Copy(h, s.R); err != nil {
					return nil, err
				}
				return object.ByteList(h.Sum(nil)), nil
			}
			data, err := object.BytesOf(c.Arg(0))
			h.Write(data)

			return object.ByteList(h.Sum(nil)), err
		}},
		{Name: "Dispose", Do: func(*object.Call) (object.Value, error) { return nil, nil }},
		{Name: "Clear", Do: func(*object.Call) (object.Value, error) { return nil, nil }},
	}

	return c
}

// algorithmClass returns the class HashAlgorithm, whose Create takes the name of one.
func algorithmClass() *object.Class {
	return &object.Class{Name: "System.Security.Cryptography.HashAlgorithm", Calls: []object.Method{
		static("Create", 1, 1, func(c *object.Call) (object.Value, error) {
			name := strings.ReplaceAll(strings.ToUpper(c.Text(0)), "-", "")
			if class := ClassNamed("Security.Cryptography." + name); class != nil && class.Make != nil {
				return class.Make.Do(c)
			}
			return nil, nil
		}),
	}}
}

// randomBytesClass returns the class RandomNumberGenerator.
func randomBytesClass() *object.Class {
	self := func() object.Value { return &object.Instance{Of: randomBytesClass()} }
	made := func(*object.Call) (object.Value, error) { return self(), nil }
	return &object.Class{
		Name:   "System.Security.Cryptography.RandomNumberGenerator",
		Others: []string{"security.cryptography.rngcryptoserviceprovider"},
		Make:   &object.Method{Do: made},
		Calls:  []object.Method{static("Create", 0, 0, made)},
		Methods: []object.Method{
			{Name: "GetBytes", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				list, _ := c.Arg(0).([]object.Value)
				for i := range list {
					n, err := library.Between(0, 256)
					if err != nil {
						return nil, err
					}
					list[i] = n
				}

				return nil, nil
			}},
			{Name: "Dispose", Do: func(*object.Call) (object.Value, error) { return nil, nil }},
		},
	}
}

// Culture returns a culture by its name; its formats are those of en-US, whatever it is called.
func Culture(name string) object.Value { return &object.Instance{Of: cultureClass(), V: name} }

// cultureClass returns the class System.Globalization.CultureInfo.
func cultureClass() *object.Class {
	of := func(name string, get func(n string) object.Value) object.Field {
		return object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[string](v)), nil
		}}
	}

	fixed := func(name, culture string) object.Field {
		return object.Field{
			Name: name,
			Get:  func(*session.State, object.Value) (object.Value, error) { return Culture(culture), nil },
			Set:  func(_, _ object.Value) error { return nil },
		}
	}

	numbers := map[string]int64{"": 127, "en-US": 1033, "en-GB": 2057, "de-DE": 1031, "fr-FR": 1036, "ja-JP": 1041}
	display := map[string]string{"": "Invariant Language (Invariant Country)", "en-US": "English (United States)"}
	named := func(c *object.Call) (object.Value, error) { return Culture(c.Text(0)), nil }
	return &object.Class{
		Name:         "System.Globalization.CultureInfo",
		Others:       []string{"cultureinfo"},
		Text:         func(v any) string { return v.(string) },
		Same:         func(v any) string { return v.(string) },
		ByProperties: true,
		Make: &object.Method{
			Least: 1,
			Most:  2,
			Do:    named,
		},
		Fields: []object.Field{
			fixed("CurrentCulture", "en-US"), fixed("CurrentUICulture", "en-US"), fixed("InvariantCulture", ""),
			fixed("InstalledUICulture", "en-US"), fixed("DefaultThreadCurrentCulture", "en-US"),
		},
		Calls: []object.Method{
			static("GetCultureInfo", 1, 1, named), static("CreateSpecificCulture", 1, 1, named),
		},
		Props: []object.Field{
			of("LCID", func(n string) object.Value { return numbers[n] }),
			of("Name", func(n string) object.Value { return n }),
			of("DisplayName", func(n string) object.Value {
				if text := display[n]; text != "" {
					return text
				}
				return n
			}),
			of("TwoLetterISOLanguageName", func(n string) object.Value {
				language, _, _ := strings.Cut(n, "-")
				return language
			}),
			of("TextInfo", func(n string) object.Value { return &object.Instance{Of: textInfoClass(), V: n} }),
		},
	}
}

// textInfoClass returns the class System.Globalization.TextInfo.
func textInfoClass() *object.Class {
	of := func(name string, do func(s string) string) object.Method {
		return object.Method{Name: name, Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			return do(c.Text(0)), nil
		}}
	}

	return &object.Class{
		Name: "System.Globalization.TextInfo",
		Props: []object.Field{{Name: "ListSeparator", Get: func(*session.State, object.Value) (object.Value, error) {
			return ",", nil
		}}},
		Methods: []object.Method{of("ToTitleCase", titled), of("ToLower", strings.ToLower), of("ToUpper", strings.ToUpper)},
	}
}

// titled has each word begin with a capital letter; words of capital letters alone stay.
func titled(s string) string {
	var b strings.Builder
	word := []rune{}
	end := func() {
		text := string(word)
		if len(word) > 0 && strings.ToUpper(text) != text {
			text = string(unicode.ToUpper(word[0])) + strings.ToLower(string(word[1:]))
		}
		b.WriteString(text)
		word = word[:0]
	}

	for _, r := range s {
		if unicode.IsLetter(r) || r == '\'' {
			word = append(word, r)
			continue
		}
		end()
		b.WriteRune(r)
	}

	end()
	return b.String()
}

// assemblyClass returns the class System.Reflection.Assembly: what is here needs no loading, and nothing else can be
// loaded.
func assemblyClass() *object.Class {
	here := []string{"system", "mscorlib", "windowsbase", "microsoft", "netstandard"}
	load := func(name string) object.Method {
		return static(name, 1, 1, func(c *object.Call) (object.Value, error) {
			first, _, _ := strings.Cut(strings.ToLower(FileName(c.Text(0))), ".")
			if slices.Contains(here, first) {
				return object.New("assembly").Set("GAC", true).Set("Version", "v4.0.30319").Set("Location", ""), nil
			}
			return nil, object.Raise("System.IO.FileNotFoundException", "Could not load file or assembly '"+c.Text(0)+
				"' or one of its dependencies: assemblies are not part of Mullion's PowerShell.")
		})
	}

	return &object.Class{Name: "System.Reflection.Assembly", Others: []string{"reflection.assembly"}, Calls: []object.Method{
		load("LoadWithPartialName"), load("Load"), load("LoadFrom"), load("LoadFile"),
	}}
}
