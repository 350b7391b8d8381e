package imagebuild

import "encoding/binary"

// sid is a security identifier: authority 5 (NT) unless creator.
type sid struct {
	authority uint8
	sub       []uint32
}

func (s sid) encode() []byte {
	b := []byte{1, byte(len(s.sub)), 0, 0, 0, 0, 0, s.authority}
	for _, v := range s.sub {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// ace allows an account something.
type ace struct {
	flags  uint8
	access uint32
	who    sid
}

func (a ace) encode() []byte {
	who := a.who.encode()
	b := []byte{0, a.flags} // ACCESS_ALLOWED_ACE_TYPE
	b = binary.LittleEndian.AppendUint16(b, uint16(8+len(who)))
	b = binary.LittleEndian.AppendUint32(b, a.access)
	return append(b, who...)
}

// ACE flags and access rights
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/628ebb1d-c509-4ea0-a10f-77ef97ca4586 and
// https://learn.microsoft.com/windows/win32/fileio/file-access-rights-constants).
const (
	objectInherit    = 0x1
	containerInherit = 0x2
	inheritOnly      = 0x8

	fullAccess     = 0x1f01ff
	readAndExecute = 0x1200a9
	genericAll     = 0x10000000
	addFile        = 0x2
	addFolder      = 0x4
)

// securityDescriptor returns the security descriptor of an image's files or folders: owned by the administrators, group
// SYSTEM, full access for both, read and execute for users, who may also create in folders; what they create is theirs.
// In SDDL:
//
//	file    O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)
//	folder  O:BAG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICIIO;GA;;;CO)(A;OICI;0x1200a9;;;BU)(A;CI;LC;;;BU)(A;CI;DC;;;BU)
//
// It is the default of C:\ on Windows, and what BuildKit gives layers that it makes on Linux
// (https://github.com/moby/buildkit/blob/01e935cff5041a32d496db42d46da95409128909/util/winlayers/differ.go).
// The form is SECURITY_DESCRIPTOR, self-relative
// (https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/7d4dac05-9cef-4563-a058-f108abecce1d).
func securityDescriptor(folder bool) []byte {
	administrators := sid{5, []uint32{32, 544}}
	users := sid{5, []uint32{32, 545}}
	system := sid{5, []uint32{18}}
	creator := sid{3, []uint32{0}}
	aces := []ace{{0, fullAccess, administrators}, {0, fullAccess, system}, {0, readAndExecute, users}}
	if folder {
		both := uint8(objectInherit | containerInherit)
		aces = []ace{
			{both, fullAccess, administrators},
			{both, fullAccess, system},
			{both | inheritOnly, genericAll, creator},
			{both, readAndExecute, users},
			{containerInherit, addFolder, users},
			{containerInherit, addFile, users},
		}
	}

	var list []byte
	for _, a := range aces {
		list = append(list, a.encode()...)
	}

	dacl := []byte{2, 0} // ACL_REVISION
	dacl = binary.LittleEndian.AppendUint16(dacl, uint16(8+len(list)))
	dacl = binary.LittleEndian.AppendUint16(dacl, uint16(len(aces)))
	dacl = append(append(dacl, 0, 0), list...)

	const header = 20
	owner, group := administrators.encode(), system.encode()
	sd := []byte{1, 0, 0x04, 0x80} // revision 1; SE_DACL_PRESENT | SE_SELF_RELATIVE
	sd = binary.LittleEndian.AppendUint32(sd, header)
	sd = binary.LittleEndian.AppendUint32(sd, uint32(header+len(owner)))
	sd = binary.LittleEndian.AppendUint32(sd, 0) // no SACL
	sd = binary.LittleEndian.AppendUint32(sd, uint32(header+len(owner)+len(group)))

	return append(append(append(sd, owner...), group...), dacl...)
}
