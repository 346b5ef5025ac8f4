// What other cron implementations are asked: our own expressions, at moments of which some are days on which clocks change.
export const expressions = [
  '* * * * *', '*/5 * * * *', '*/7 * * * *', '3-59/15 * * * *', '0,15,30,45 * * * *', '5,10-20/5,50 * * * *', '0 * * * *', '30 */2 * * *',
  '0 0 * * *', '30 2 * * *', '59 23 * * *', '0 9-17 * * *', '0 9-17/4 * * *', '*/20 1-3 * * *', '15 2,14 * * *', '0 1 * * *', '0 3 * * *',
  '0 0 1 * *', '0 0 15 * *', '0 0 28-31 * *', '0 12 31 * *', '0 0 29 2 *', '0 0 30 1,3 *', '0 0 */10 * *', '0 0 1-7 * *', '30 4 1,15 * *',
  '0 0 1 1 *', '0 0 1 */3 *', '0 0 1 JAN,JUL *', '0 0 * FEB-APR *', '0 6 * 12 *', '0 0 31 12 *',
  '0 0 * * 0', '0 0 * * 7', '0 0 * * 1-5', '0 0 * * MON-FRI', '0 22 * * 1-5', '0 0 * * SUN', '0 0 * * sat,sun', '0 0 * * 5-7', '0 0 * * */2', '0 0 * * 1,3,5',
  '0 0 13 * 5', '0 0 1,15 * 3', '30 4 1,15 * 5', '0 0 1-7 * MON', '0 0 31 * MON', '0 0 29 2 MON', '0 0 */2 * */2', '0 0 1 */2 1',
  '* * * * * *', '*/10 * * * * *', '30 0 0 * * *', '15,45 30 6 * * *', '0 0 12 1 * *', '59 59 23 31 12 *',
  '@hourly', '@daily', '@weekly', '@monthly', '@yearly',
  // what is no expression
  '', '*', '* * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 0 *', '* * * 13 *', '* * * * 8', '-1 * * * *', '1-60 * * * *', '*/0 * * * *', '*/-1 * * * *',
  '5-1 * * * *', '1,,2 * * * *', ', * * * *', '1- * * * *', '*/ * * * *', '/5 * * * *', '1.5 * * * *', 'a * * * *', '* * * FOO *', '* * * * FOO', '60 * * * * *',
  '* * * * * * * *', '@reboot', '@never', '0 0 30 2 *', '0 0 31 4,6,9,11 *', '** * * * *', '1-2-3 * * * *', '*/1/2 * * * *',
];

const moved = ['* * * * *', '*/20 1-3 * * *', '0 * * * *', '30 */2 * * *', '0 0 * * *', '30 2 * * *', '0 1 * * *', '0 3 * * *', '15 2,14 * * *', '0 9-17/4 * * *'];
export const moments = [
  { zone: 'UTC', after: '2027-01-31T23:59:30Z' },
  { zone: 'UTC', after: '2028-02-28T12:00:00Z' },  // a leap year
  { zone: 'Asia/Kolkata', after: '2027-12-31T18:00:00Z' },  // +05:30, no changes
  { zone: 'America/Phoenix', after: '2027-06-30T06:59:59Z' },
  { zone: 'Europe/Berlin', after: '2027-03-27T23:30:00Z', only: moved },  // 2:00 becomes 3:00
  { zone: 'Europe/Berlin', after: '2027-10-30T22:30:00Z', only: moved },  // 3:00 becomes 2:00
  { zone: 'America/New_York', after: '2027-03-14T05:30:00Z', only: moved },
  { zone: 'America/New_York', after: '2027-11-07T04:30:00Z', only: moved },
  { zone: 'Australia/Lord_Howe', after: '2027-10-02T14:00:00Z', only: moved },  // half an hour
  { zone: 'Australia/Lord_Howe', after: '2027-04-03T13:30:00Z', only: moved },
  { zone: 'America/Santiago', after: '2027-09-05T02:30:00Z', only: moved },  // midnight does not exist
];
