create trigger orders_ai after insert on orders for each row begin
  insert into audit(what) values('new order');
  update counter set n=n+1 /* why */ where name='orders';
  set @last = 5;
  if new.total > 5 then insert into audit(what) values ("big   one"); end if;
end
%%
create trigger audit_ai after insert on audit for each row update counter set n=n+1 where name='deep'
%%
create function bump(a int) returns int modifies sql data begin
  declare i int default 0; declare c cursor for select n from counter;
  update counter set n=n+1 where name='rows';
  while i < 2 do set i=i+1; insert into audit(what) values('loop'); end while;
  delete from audit where id < 0 order by id limit i;
  select count(*) into @x from audit;
  open c; fetch c into i; close c;
  do 1; 
  return a+1; end
%%
create procedure place(c int) begin
  insert into audit(what) values('from place');
  insert into orders(customer,total) values(c,7);
  select 1;
  call nested(); end
%%
create procedure nested() begin update counter set n=n+1 where name='calls'; end
%%
create procedure quiet() update counter set n=n+1 where name='calls'
%%
create function viacall() returns int modifies sql data begin call quiet(); return 1; end
%%
create view v as select id, bump(id) b from orders
%%
create procedure logger() begin set session long_query_time=1; set global general_log=1; update counter set n=n+1 where name='calls'; end
