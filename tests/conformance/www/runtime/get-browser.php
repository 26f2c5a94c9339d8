<?php

echo get_current_user() !== '' ? 'user' : '', ' ', getmyuid() === fileowner(__FILE__) ? 'owner' : 'other', ' ', getlastmod() === filemtime(__FILE__) ? 'mtime' : 'other';
