<svg class="elephant" viewBox="0 0 120 104" aria-hidden="true" focusable="false">
<g class="hide">
<path d="M21 62c-9 4-11 16-9 28" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/>
<path d="M19 66c0-13 9-19 24-19h30c7 0 11-7 20-7 12 0 18 10 18 22 0 13 0 22 3 29 1 3 4 1 3-2l3 1c1 6-2 11-7
11-7 0-10-9-12-18-3 4-6 6-10 6v13a1 1 0 0 1-1 1H78a1 1 0 0 1-1-1V88H45v14a1 1 0 0 1-1 1H31a1 1 0 0
1-1-1V86c-7-5-11-11-11-20z"/>
</g>
<path class="ear" d="M77 47c8-5 17-1 17 10 0 10-6 17-13 16-7-2-11-21-4-26z"/>
<path class="tusk" d="M104 73c3 2 7 2 10-1-1 6-7 8-12 5z"/>
<circle class="eye" cx="102" cy="57" r="2"/>
<path class="cloth" d="M36 46h34v25c0 3-3 4-6 4H42c-3 0-6-1-6-4z"/>
<path class="trim" d="M36 69h34v3c0 2-3 3-6 3H42c-3 0-6-1-6-3z"/>
<path class="seat" d="M32 33h42l-3 14H35z"/>
<path class="rail" d="M34 18h3v15h-3zM69 18h3v15h-3z"/>
<circle class="rider" cx="45" cy="27" r="4.500"/><circle class="rider" cx="56" cy="25.500" r="4.500"/>
<path class="roof" d="M28 20c9-2 14-5 16-11 5-2 13-2 18 0 2 6 7 9 16 11z"/>
<path class="rail" d="M52 0h2v9h-2z"/><path class="flag" d="M54 0l12 3-12 4z"/>
</svg>
