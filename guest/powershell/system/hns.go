package system

import "fmt"

// hnsAnswer returns HNSCall's answer, or an error if the HRESULT is negative.
func hnsAnswer(hr int32, answer string) (string, error) {
	if hr < 0 {
		return "", fmt.Errorf("HNS answers 0x%08x", uint32(hr)) // an HRESULT
	}
	return answer, nil
}
