package rowdata

import "strconv"

const (
	millisPerDay = 86_400_000
	secsPerDay   = 86_400
)

// civilOf returns the date of the proleptic Gregorian calendar that is days
// after 1970-01-01. Years are astronomical: 0 is 1 BC.
func civilOf(days int64) (year int64, month, day int) {
	// Count in eras of 400 years that begin with March, so that the leap day is
	// the last of its year.
	z := days + 719_468
	era := floorDiv(z, 146_097)
	doe := z - era*146_097
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp) + 3
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// daysOf is the inverse of civilOf. The day may lie beyond the month's end.
func daysOf(year int64, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := int64((153*(month-3)+2)/5 + day - 1)
	return era*146_097 + yoe*365 + yoe/4 - yoe/100 + doy - 719_468
}

func daysInMonth(year int64, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

const twoDigits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// put2 writes a number below 100 as two digits.
func put2(b []byte, n int) {
	b[0], b[1] = twoDigits[2*n], twoDigits[2*n+1]
}

// appendDigits appends n with zeros in front to make it width digits.
func appendDigits(dst []byte, n int64, width int) []byte {
	at := len(dst)
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; i >= at; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

// appendDate appends an ISO date: years of four digits, with a plus sign if they
// have more.
func appendDate(dst []byte, days int64) []byte {
	y, m, d := civilOf(days)
	switch {
	case 0 <= y && y <= 9999:
		dst = append(dst, "0000"...)
		put2(dst[len(dst)-4:], int(y/100))
		put2(dst[len(dst)-2:], int(y%100))
	case y > 9999:
		dst = strconv.AppendInt(append(dst, '+'), y, 10)
	case y > -1000:
		dst = appendDigits(append(dst, '-'), -y, 4)
	default:
		dst = strconv.AppendInt(dst, y, 10)
	}
	dst = append(dst, "-00-00"...)
	put2(dst[len(dst)-5:], m)
	put2(dst[len(dst)-2:], d)
	return dst
}

// appendClock appends hh:mm:ss of a second of the day.
func appendClock(dst []byte, second int) []byte {
	dst = append(dst, "00:00:00"...)
	b := dst[len(dst)-8:]
	put2(b, second/3600)
	put2(b[3:], second/60%60)
	put2(b[6:], second%60)
	return dst
}

var pow10 = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// appendFraction appends a dot and the first digits of nanoseconds of a second;
// nothing for 0 digits.
func appendFraction(dst []byte, nanos int64, digits int) []byte {
	if digits == 0 {
		return dst
	}
	return appendDigits(append(dst, '.'), nanos/pow10[9-digits], digits)
}

// appendStamp appends date, separator and time of day of a timestamp with that
// many digits of fraction. With lossless it appends nine digits if there are
// more than the type allows, so that nothing is hidden.
func appendStamp(dst []byte, millis int64, nanos int32, sep byte, digits int, lossless bool) []byte {
	days := floorDiv(millis, millisPerDay)
	rest := millis - days*millisPerDay
	frac := rest%1000*1_000_000 + int64(nanos)
	if lossless && frac%pow10[9-digits] != 0 {
		digits = 9
	}
	dst = append(appendDate(dst, days), sep)
	return appendFraction(appendClock(dst, int(rest/1000)), frac, digits)
}
