// Package iscsi is an initiator of iSCSI (RFC 7143, https://www.rfc-editor.org/rfc/rfc7143): it asks a portal for its
// targets, logs in to one, by CHAP where that is wanted, and reads, writes and asks its logical units by SCSI. A
// session has one connection and error recovery level 0: what goes wrong on it ends it, and who has it logs in again.
// It uses no digests. What a target says is not trusted: every length is checked before it is used, and every wait has
// an end.
package iscsi
