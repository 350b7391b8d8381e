package object

// BytesOf returns a list of numbers as bytes.
func BytesOf(v Value) ([]byte, error) {
	var out []byte
	for item := range Each(v) {
		n, err := Integer(item)
		if err != nil {
			return nil, err
		}
		if n < 0 || n > 255 {
			return nil, Unconverted(item, "System.Byte", OutOfRange("Byte"))
		}
		out = append(out, byte(n))
	}

	return out, nil
}

// ByteList returns bytes as a list of numbers.
func ByteList(data []byte) []Value {
	out := make([]Value, len(data))
	for i, b := range data {
		out[i] = int64(b)
	}
	return out
}
